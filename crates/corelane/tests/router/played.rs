//! A test plays a new process that takes over, and dies or hangs at its worst moment, or stands between
//! both: no frame is lost.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::Duration;

use bpf::attach::Mode;
use fastpath::forward::{Capacity, Forwarder, Lookup, Place};
use router::take_over::{Channel, Given, Held, Offer, Wanted, Workers, WorkersWanted};
use serde_json::Value;

use super::lab::{Lab, Router, is_root, wait_for};
use super::take_over::{PATIENCE, all_arrive, closes, counted, lab, start, take_over};

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
