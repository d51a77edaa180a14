//! A new process takes over from a running router, under a stream of numbered frames: none is lost,
//! none comes twice, whoever dies when.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use host::offload::Offload;

use super::lab::{Lab, Router, is_root, text, wait_for};
use super::raw::{Wires, ipv4};

/// Behind a frame's number, in its payload.
const MARK: &[u8] = b"take-over";
/// Between two frames: few enough for the queues of a veth.
const PAUSE: Duration = Duration::from_micros(200);
/// How long the last frames may take on a machine however busy.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn lab() -> Lab {
    let lab = Lab::new();
    for port in ["r0", "r1"] {
        // Without it, a veth throws away what waits in it when its program goes.
        lab.r.switch(port, Offload::GenericReceive, true).unwrap();
    }
    lab.r.ip("route add 10.9.0.0/16 via 10.1.0.2").unwrap();
    lab
}

/// Sends numbered frames during `events`; says how many, after each has arrived once.
pub(super) fn all_arrive(lab: &Lab, events: impl FnOnce()) -> u64 {
    let (sent, lost) = stream(lab, events);
    assert!(lost.is_empty(), "of {sent} frames lost: {lost:?}");
    sent
}

/// Sends numbered frames during `events`, of which none arrives twice; says how many, and the numbers
/// of those that were lost.
pub(super) fn stream(lab: &Lab, events: impl FnOnce()) -> (u64, Vec<u64>) {
    let wires = Wires::open(lab);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let arrivals = scope.spawn(|| {
            let (mut arrived, mut end) = (BTreeSet::new(), None);
            loop {
                if let Some(number) = wires.b.receive().as_deref().and_then(number_of) {
                    assert!(arrived.insert(number), "frame {number} came twice");
                }
                if end.is_none() && over.load(Ordering::Acquire) {
                    end = Some(Instant::now() + PATIENCE);
                }
                let is_late = end.is_some_and(|end| Instant::now() > end);
                if is_late || arrived.contains(&LAST) {
                    return arrived;
                }
            }
        });
        let sender = scope.spawn(|| {
            let send = |number: u64| {
                let payload = [&number.to_le_bytes(), MARK].concat();
                let port = 1024 + number as u16 % 4096;
                let frame = ipv4(wires.macs, [10, 0, 0, 2], [10, 9, 0, 9], port, &payload);
                wires.a.send(&frame);
                thread::sleep(PAUSE);
            };
            let mut sent = 0;
            while !over.load(Ordering::Acquire) {
                send(sent);
                sent += 1;
            }
            send(LAST);
            sent
        });
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(events));
        over.store(true, Ordering::Release);
        let sent = sender.join().unwrap();
        let arrived = arrivals.join().unwrap();
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
        let lost = (0..sent).filter(|one| !arrived.contains(one));
        (sent + 1, lost.collect())
    })
}

/// The number of the frame after which none comes.
const LAST: u64 = u64::MAX;

fn number_of(frame: &[u8]) -> Option<u64> {
    let before = frame.strip_suffix(MARK)?;
    before.last_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

pub(super) fn start(lab: &Lab, engine: &[&str]) -> Router {
    let router = lab.run(&["r0", "r1"], engine);
    lab.wait_for_fast_path(&router, &["10.1.0.2"]);
    router
}

pub(super) fn take_over(lab: &Lab, engine: &[&str]) -> Router {
    lab.run(&["r0", "r1"], &[engine, &["--take-over"]].concat())
}

/// Whether every frame that came is counted under its fate.
pub(super) fn closes(router: &Router) -> bool {
    let rows = router.show("workers");
    let mut rows = rows.as_array().unwrap().iter();
    rows.all(|row| {
        let of = |key: &str| row[key].as_u64().unwrap();
        of("received") == of("forwarded") + of("to_kernel") + of("dropped")
    })
}

/// Frames that were forwarded, and those that were the kernel's to forward: it looked for the
/// neighbour again, a busy machine let the routes grow old, or the checksum is by chance what an
/// unfinished one would be, as of one frame in 65,536.
pub(super) fn counted(router: &Router) -> u64 {
    let reasons = ["unresolved", "stale", "partial-checksum"];
    let for_kernel = reasons.map(|reason| router.reason(reason));
    router.forwarded() + for_kernel.iter().sum::<u64>()
}

#[test]
fn no_frame_is_lost_and_counts_go_on() {
    if !is_root() {
        return;
    }
    let lab = lab();
    for engine in [
        &["--engine", "xdp", "--require", "native"][..],
        &["--engine", "xdp", "--require", "generic"],
        &["--engine", "xdp-kernel-fib"],
        &["--engine", "tc"],
        &["--engine", "auto"],
        &["--engine", "af-xdp"],
        &["--engine", "af-xdp", "--long-frames"],
    ] {
        let mut old = start(&lab, engine);
        let before = counted(&old);
        let mut new = None;
        let sent = all_arrive(&lab, || {
            thread::sleep(Duration::from_millis(50));
            let next = take_over(&lab, engine);
            wait_for("the old process's end", 20, || old.ended());
            thread::sleep(Duration::from_millis(50));
            new = Some(next);
        });
        assert!(old.log().contains("taken over"), "{engine:?}");
        assert_eq!(old.end(0), Some(0), "{engine:?}");
        let new = new.unwrap();
        let after = counted(&new);
        assert!(
            after >= before + sent,
            "{engine:?}: {before} {sent} {after}; {:#}",
            new.show("drops")
        );
        assert!(closes(&new), "{engine:?}: {}", new.show("workers"));
        assert_eq!(new.left_to_kernel(), [""; 0], "{engine:?}");
        lab.r.ip("route add 198.51.100.0/24 via 10.1.0.2").unwrap();
        lab.wait_for_fast_path(&new, &["10.1.0.2"]);
        new.verify();
        lab.r.ip("route del 198.51.100.0/24").unwrap();
    }
}

/// A process that wants to take over, to be killed.
pub(super) fn one_more(lab: &Lab, engine: &str) -> Child {
    let file = lab.path("few-routes.toml");
    let mut command = lab.r.command(env!("CARGO_BIN_EXE_corelane"));
    command.arg("run").arg(file).arg("--take-over");
    command.args(["--engine", engine, "--run-directory"]);
    command.arg(lab.directory.path());
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

#[test]
fn a_new_process_that_is_killed_costs_nothing() {
    if !is_root() {
        return;
    }
    let lab = lab();
    let mut old = start(&lab, &["--engine", "xdp"]);
    let before = old.forwarded();
    let sent = all_arrive(&lab, || {
        for turn in 0..12 {
            let mut child = one_more(&lab, "xdp");
            thread::sleep(Duration::from_millis(turn * 15));
            child.kill().unwrap();
            child.wait().unwrap();
            if old.ended() {
                // It was done already.
                old = start(&lab, &["--engine", "xdp"]);
            }
        }
    });
    println!("{sent} frames; {before} were forwarded before");
    lab.wait_for_fast_path(&old, &["10.1.0.2"]);
    old.verify();
}

#[test]
fn ports_that_only_one_of_both_names_come_and_go() {
    if !is_root() {
        return;
    }
    let mut lab = lab();
    let c = lab.link("c", 2);
    c.ip("route add default via 10.2.0.1").unwrap();
    let engine = ["--engine", "xdp", "--require", "native"];
    let mut old = start(&lab, &engine);
    let new = lab.run(&["r0", "r2"], &[&engine[..], &["--take-over"]].concat());
    wait_for("the old process's end", 20, || old.ended());
    wait_for("the new port", 20, || new.state("r2") == "forwarding");
    lab.wait_for_fast_path(&new, &["10.2.0.2"]);
    let has_program = |port: &str| {
        let shown = lab.r.ip(format!("-d link show {port}")).unwrap();
        shown.contains("xdp")
    };
    assert!(has_program("r0") && !has_program("r1") && has_program("r2"));
    assert!(lab.ping("10.1.0.2"), "by the kernel");
}

/// What a router answers to a question as it stands.
fn answer(lab: &Lab, question: &str) -> String {
    let mut stream = UnixStream::connect(lab.path("default.sock")).unwrap();
    writeln!(stream, "{question}").unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    answer
}

#[test]
fn what_cannot_be_taken_over_says_why_and_what_to_do() {
    if !is_root() {
        return;
    }
    let lab = lab();
    let words = ["--port", "r0", "--port", "r1", "--metrics", ""];
    let refused = |more: &[&str]| lab.refused(&[&words, more, &["--take-over"]].concat());
    let said = refused(&[]);
    assert!(said.contains("no router answers on"), "{said}");
    assert!(said.contains("without --take-over"), "{said}");

    // An older one, which knows no such question.
    let older = UnixListener::bind(lab.path("default.sock")).unwrap();
    let answers = thread::spawn(move || {
        let (stream, _) = older.accept().unwrap();
        BufReader::new(&stream)
            .read_line(&mut String::new())
            .unwrap();
        let error = r#"{"error":"show take-over 1: known are ports, vlans"}"#;
        writeln!(&stream, "{error}").unwrap();
    });
    let said = refused(&[]);
    answers.join().unwrap();
    assert!(
        said.contains("is older") && said.contains("restart it"),
        "{said}"
    );

    let mut router = start(&lab, &["--engine", "af-packet"]);
    let said = refused(&["--engine", "af-packet"]);
    let wanted = "engine af-packet cannot be taken over yet: restart it";
    assert!(said.contains(wanted), "{said}");
    router.end(libc::SIGTERM);

    let mut router = start(&lab, &["--engine", "af-xdp"]);
    for (option, wanted) in [
        ("--busy-poll", "has another busy-poll"),
        ("--long-frames", "has another long-frames"),
    ] {
        let said = refused(&["--engine", "af-xdp", option]);
        assert!(said.contains(wanted), "{said}");
        assert!(said.contains("nothing has changed"), "{said}");
    }
    let fewer = ["--port", "r0", "--metrics", "", "--engine", "af-xdp"];
    let said = lab.refused(&[&fewer[..], &["--take-over"]].concat());
    assert!(said.contains("is a port of the running router"), "{said}");
    assert!(!router.ended());
    router.end(libc::SIGTERM);

    let mut router = start(&lab, &["--engine", "xdp"]);
    let said = answer(&lab, "take-over 0");
    assert!(
        said.contains("take-over 0: this router speaks version 1"),
        "{said}"
    );
    let said = refused(&["--engine", "tc"]);
    assert!(said.contains("the running engine is xdp"), "{said}");
    let mut elsewhere = lab.a.command(env!("CARGO_BIN_EXE_corelane"));
    elsewhere.args(["run", "--engine", "xdp", "--take-over", "--port", "e0"]);
    elsewhere.arg("--run-directory").arg(lab.directory.path());
    let said = text(&elsewhere.output().unwrap());
    assert!(said.contains("another network namespace"), "{said}");
    router.signal(libc::SIGSTOP);
    let said = refused(&["--engine", "xdp"]);
    assert!(
        said.contains("it hangs") && said.contains("end it"),
        "{said}"
    );
    router.signal(libc::SIGCONT);
    lab.wait_for_fast_path(&router, &["10.1.0.2"]);

    router.end(libc::SIGKILL);
    let said = refused(&["--engine", "xdp"]);
    assert!(said.contains("no router answers on"), "{said}");
}
