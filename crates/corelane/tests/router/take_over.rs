//! A new process takes over from a running router, under a stream of numbered frames: none is lost,
//! none comes twice, whoever dies when.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bpf::attach::Mode;
use fastpath::forward::{Capacity, Forwarder, Lookup, Place};
use host::offload::Offload;
use router::take_over::{Channel, Given, Held, Offer, Wanted, Workers, WorkersWanted};
use serde_json::Value;

use super::lab::{Lab, Router, is_root, text, wait_for};
use super::raw::{Wires, ipv4};

/// Behind a frame's number, in its payload.
const MARK: &[u8] = b"take-over";
/// Between two frames: few enough for the queues of a veth.
const PAUSE: Duration = Duration::from_micros(200);
/// How long the last frames may take on a machine however busy.
const PATIENCE: Duration = Duration::from_secs(20);

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

/// Frames that were forwarded, and those that were the kernel's to forward because it looked for the
/// neighbour again, or because a busy machine let the routes grow old.
pub(super) fn counted(router: &Router) -> u64 {
    let for_kernel = ["unresolved", "stale"].map(|reason| router.reason(reason));
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

/// A new process that a test plays.
struct Played {
    channel: Channel,
    forwarder: Forwarder,
}

impl Played {
    fn ask(lab: &Lab, engine: &str) -> Self {
        let mut stream = UnixStream::connect(lab.path("default.sock")).unwrap();
        writeln!(stream, "take-over 1").unwrap();
        let mut channel = Channel::new(stream).unwrap();
        let (offer, _) = channel.hear::<Offer>(PATIENCE).unwrap();
        assert_eq!(offer.engine, engine);
        let capacity = Capacity {
            main_v4: 4096,
            main_v6: 4096,
            ..Capacity::default()
        };
        let make = || {
            let forwarder = if engine == "af-xdp" {
                Forwarder::for_workers(capacity, 1, 1514, false)
            } else {
                Forwarder::new(Lookup::Own, capacity)
            };
            let mut forwarder = forwarder.unwrap();
            for port in &offer.ports {
                assert_eq!(port.mode, "native");
                let place = Place::Elsewhere(Mode::Native);
                forwarder
                    .attach_at(&port.name, port.ifindex, place)
                    .unwrap();
            }
            forwarder
        };
        let forwarder = lab.r.enter(make).unwrap();
        Self { channel, forwarder }
    }

    /// Gets the sockets and the memory of the old process.
    fn workers(&mut self) -> Vec<OwnedFd> {
        let workers = true;
        self.channel.say(&WorkersWanted { workers }, &[]).unwrap();
        let (Workers { workers }, descriptors) = self.channel.hear(PATIENCE).unwrap();
        let sockets = workers.iter().flat_map(|worker| &worker.ports);
        let sockets: usize = sockets.map(|port| port.sockets.len()).sum();
        assert!(sockets >= 2);
        assert_eq!(descriptors.len(), workers.len() + sockets);
        descriptors
    }

    /// Has the ports run programs without tables: all is the kernel's.
    fn swap(&mut self) -> Given {
        let (wanted, programs): (Vec<_>, Vec<_>) = self.forwarder.programs().unzip();
        self.channel.say(&Wanted { wanted }, &programs).unwrap();
        let (given, descriptors) = self.channel.hear::<Given>(PATIENCE).unwrap();
        assert_eq!(descriptors.len(), 2);
        given
    }

    fn received(&self) -> u64 {
        let counts = self.forwarder.port_counters();
        counts.values().map(|count| count.received).sum()
    }
}

#[test]
fn a_new_process_that_dies_or_hangs_with_the_ports_costs_nothing() {
    if !is_root() {
        return;
    }
    let lab = lab();
    let mut old = start(&lab, &["--engine", "xdp", "--require", "native"]);
    let before = old.forwarded();
    let goes_on = |old: &Router| {
        let before = old.forwarded();
        wait_for("frames by the old process", 10, || {
            old.forwarded() > before + 50
        });
    };
    all_arrive(&lab, || {
        let mut new = Played::ask(&lab, "xdp");
        new.swap();
        wait_for("frames by the new one", 10, || new.received() > 50);
        drop(new);
        goes_on(&old);
        let mut new = Played::ask(&lab, "xdp");
        new.swap();
        let error = new.channel.hear::<Offer>(PATIENCE).unwrap_err();
        assert!(error.to_string().contains("in time"), "{error}");
        goes_on(&old);
    });
    assert!(old.forwarded() > before);
    assert!(old.log().contains("this process goes on"), "{}", old.log());
    // Nothing of it is left in the way.
    let new = take_over(&lab, &["--engine", "xdp"]);
    wait_for("the old process's end", 20, || old.ended());
    lab.wait_for_fast_path(&new, &["10.1.0.2"]);
}

#[test]
fn a_new_process_that_dies_or_hangs_with_the_sockets_costs_nothing() {
    if !is_root() {
        return;
    }
    let lab = lab();
    let mut old = start(&lab, &["--engine", "af-xdp", "--require", "native"]);
    let before = counted(&old);
    let goes_on = |old: &mut Router, times| {
        let said = "this process goes on";
        wait_for("the old process", 10, || {
            old.log().matches(said).count() == times
        });
        let before = old.forwarded();
        wait_for("frames by the old process", 10, || {
            old.forwarded() > before + 50
        });
    };
    let sent = all_arrive(&lab, || {
        // It has them, and has asked for nothing.
        let mut new = Played::ask(&lab, "af-xdp");
        let sockets = new.workers();
        thread::sleep(Duration::from_millis(20));
        drop((new, sockets));
        goes_on(&mut old, 1);
        // The workers of the old one are held.
        let mut new = Played::ask(&lab, "af-xdp");
        let sockets = new.workers();
        new.swap();
        drop((new, sockets));
        goes_on(&mut old, 2);
        let mut new = Played::ask(&lab, "af-xdp");
        let sockets = new.workers();
        new.swap();
        let error = new.channel.hear::<Offer>(PATIENCE).unwrap_err();
        assert!(error.to_string().contains("in time"), "{error}");
        goes_on(&mut old, 3);
        drop((new, sockets));
    });
    // The played ones had them forwarded by the kernel.
    println!(
        "{sent} frames; {} by the old process",
        counted(&old) - before
    );
    assert!(closes(&old), "{}", old.show("workers"));
    // Nothing of it is left in the way.
    let new = take_over(&lab, &["--engine", "af-xdp"]);
    wait_for("the old process's end", 20, || old.ended());
    lab.wait_for_fast_path(&new, &["10.1.0.2"]);
}

/// Between an old process and a new one, until the old one has taken its ports back for want of an
/// answer. It ends before it can say so.
fn stand_between(lab: &Lab, new: UnixStream, mut old: Router) {
    let mut question = String::new();
    let mut reader = BufReader::new(new.try_clone().unwrap());
    reader.read_line(&mut question).unwrap();
    let mut stream = UnixStream::connect(lab.path("old.sock")).unwrap();
    stream.write_all(question.as_bytes()).unwrap();
    let [mut new, mut to_old] = [new, stream].map(|stream| Channel::new(stream).unwrap());
    let pass = |from: &mut Channel, to: &Channel| {
        let (message, descriptors) = from.hear::<Value>(PATIENCE).unwrap();
        let descriptors: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        to.say(&message, &descriptors).unwrap();
    };
    pass(&mut to_old, &new);
    pass(&mut new, &to_old);
    pass(&mut to_old, &new);
    new.hear::<Held>(PATIENCE).unwrap();
    let error = to_old.hear::<Value>(PATIENCE).unwrap_err();
    assert!(error.to_string().contains("in time"), "{error}");
    old.end(libc::SIGKILL);
}

#[test]
fn an_old_process_that_dies_with_its_ports_taken_back_costs_nothing() {
    if !is_root() {
        return;
    }
    let lab = lab();
    let old = start(&lab, &["--engine", "xdp", "--require", "native"]);
    let socket = lab.path("default.sock");
    std::fs::rename(&socket, lab.path("old.sock")).unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    all_arrive(&lab, || {
        thread::scope(|scope| {
            scope.spawn(|| {
                let (new, _) = listener.accept().unwrap();
                std::fs::remove_file(&socket).unwrap();
                stand_between(&lab, new, old);
            });
            let new = take_over(&lab, &["--engine", "xdp"]);
            lab.wait_for_fast_path(&new, &["10.1.0.2"]);
        });
    });
}

#[test]
fn the_second_of_two_is_refused() {
    if !is_root() {
        return;
    }
    let lab = lab();
    let mut old = start(&lab, &["--engine", "xdp", "--require", "native"]);
    let first = Played::ask(&lab, "xdp");
    let file = lab.path("few-routes.toml");
    let words = [file.to_str().unwrap(), "--engine", "xdp", "--take-over"];
    let said = lab.refused(&words);
    let me = std::process::id();
    let wanted = format!("process {me} is taking over already");
    assert!(said.contains(&wanted), "{said}");
    assert!(said.contains("nothing has changed"), "{said}");
    drop(first);
    wait_for("the first's end", 5, || old.log().contains("goes on"));
    let new = take_over(&lab, &["--engine", "xdp"]);
    wait_for("the old process's end", 20, || old.ended());
    lab.wait_for_fast_path(&new, &["10.1.0.2"]);
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
