//! A family goes to the kernel and comes back a hundred times under traffic, in the whole program.
//! All traffic has a route, and a shorter prefix covers it that leads to another neighbour, who
//! counts: it must not get a frame.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use router::management_plane::client;
use serde_json::Value;

use super::lab::{Lab, is_root};
use super::raw::{Raw, ipv4, ipv6, mac};

/// How often: both engines turn to the kernel by the same store.
const TOGGLES: [(&str, usize); 2] = [("xdp", 100), ("af-xdp", 20)];
/// In the payload of each frame.
const MARK: [u8; 8] = *b"toggled!";
const PATIENCE: Duration = Duration::from_secs(10);

/// A bed in which b is on the way of all traffic, and c on that of the shorter prefixes.
fn lay() -> Lab {
    let mut lab = Lab::new();
    lab.link("c", 2);
    for (host, number) in [("b", 1), ("c", 2)] {
        let mac = host::bed::mac_text(lab.bed.end(host, &format!("e{number}")).unwrap().mac);
        let prefixes = [
            ["198.19.0.0/16", "2001:db8:19::/48"],
            ["198.0.0.0/8", "2001:d00::/24"],
        ];
        let gateways = [format!("10.{number}.0.2"), format!("2001:db8:{number}::2")];
        for (prefix, gateway) in prefixes[number - 1].into_iter().zip(gateways) {
            let permanent = format!("lladdr {mac} dev r{number} nud permanent");
            lab.r
                .ip(format!("neigh replace {gateway} {permanent}"))
                .unwrap();
            lab.r
                .ip(format!("route add {prefix} via {gateway}"))
                .unwrap();
        }
    }
    lab
}

/// What is between two looks: frames that the router forwarded itself, and that were sent.
struct Watch<'a> {
    socket: &'a Path,
    sent: &'a AtomicU64,
}

impl Watch<'_> {
    fn forwarded(&self) -> u64 {
        let answer = client::ask(self.socket, "ports").unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let ports = answer["ports"].as_array().unwrap().iter();
        ports.filter_map(|port| port["forwarded"].as_u64()).sum()
    }

    /// Waits until the router forwards all of what is sent, or only one family of two.
    fn wait_for(&self, both: bool) {
        let end = Instant::now() + PATIENCE;
        loop {
            let (sent, before) = (self.sent.load(Ordering::Acquire), self.forwarded());
            while self.sent.load(Ordering::Acquire) < sent + 40 {
                assert!(Instant::now() < end, "nothing is sent any more");
                std::thread::sleep(Duration::from_micros(200));
            }
            let (ours, all) = (
                self.forwarded() - before,
                self.sent.load(Ordering::Acquire) - sent,
            );
            // What was on its way at either look counts for neither.
            if (ours > all * 3 / 4) == both {
                return;
            }
            assert!(
                Instant::now() < end,
                "{ours} of {all} frames; both families: {both}"
            );
        }
    }
}

fn toggle(engine: &str, times: usize) {
    let lab = lay();
    let macs = (mac(&lab.r, "r0"), mac(&lab.a, "e0"));
    let frames = [
        ipv4(macs, [10, 0, 0, 2], [198, 19, 1, 2], 9, &MARK),
        ipv6(macs, "2001:db8:0::2", "2001:db8:19::2", &MARK),
    ];
    let rule = "add table ip t; add chain ip t f { type filter hook forward priority 0; }; add \
                rule ip t f ip ttl 255 counter";
    let nft = lab.r.command("nft").arg(rule).status().unwrap();
    assert!(nft.success());
    let file = lab.path("router.toml");
    let configure = |bypass: bool| {
        let text = format!(
            "ports = [\"r0\", \"r1\", \"r2\"]\nmetrics = \"\"\nengine = \"{engine}\"\n\
             bypass-netfilter = {bypass}\n"
        );
        fs::write(&file, text).unwrap();
    };
    configure(true);
    let mut router = lab.run_words(&["run".to_owned(), file.to_str().unwrap().to_owned()]);
    let socket = fs::read_dir(lab.directory.path()).unwrap();
    let mut sockets = socket.map(|entry| entry.unwrap().path());
    let socket = sockets.find(|path| path.extension().is_some_and(|end| end == "sock"));
    let socket = socket.unwrap();
    let (from, wrong) = (
        Raw::open(&lab.a, "e0"),
        Raw::open(lab.bed.namespace("c").unwrap(), "e2"),
    );
    let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Acquire) {
                for frame in frames.iter().cycle().take(8) {
                    from.send(frame);
                }
                sent.fetch_add(8, Ordering::Release);
                // Some 80,000 frames a second; the cores are others' too.
                std::thread::sleep(Duration::from_micros(20));
            }
        });
        let stop = Stop(&stop);
        let watch = Watch {
            socket: &socket,
            sent: &sent,
        };
        watch.wait_for(true);
        for _ in 0..times {
            for bypass in [false, true] {
                configure(bypass);
                router.signal(libc::SIGHUP);
                watch.wait_for(bypass);
            }
        }
        let is_ours = |frame: &[u8]| frame.windows(MARK.len()).any(|bytes| bytes == MARK);
        let strayed = std::iter::from_fn(|| wrong.receive()).filter(|frame| is_ours(frame));
        let strayed: BTreeSet<_> = strayed.collect();
        assert!(
            strayed.is_empty(),
            "{engine}: by the shorter prefix: {strayed:x?}"
        );
        // Who counts would have seen one.
        lab.r.ip("route del 198.19.0.0/16").unwrap();
        assert!(wrong.wait_for(is_ours).is_some(), "{engine}");
        drop(stop);
    });
    assert!(!router.ended(), "{}", router.log());
}

/// The sender ends, whatever happens.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn no_frame_takes_a_shorter_prefix_while_a_family_goes_to_the_kernel_and_comes_back() {
    if !is_root() || !needs::program("nft") {
        return;
    }
    for (engine, times) in TOGGLES {
        toggle(engine, times);
    }
}
