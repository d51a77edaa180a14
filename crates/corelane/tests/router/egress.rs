//! Frames that cannot leave: seen, counted, or never taken from the kernel.

use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

use super::lab::{Lab, Router, is_root, wait_for};
use super::raw::{Raw, ipv4, mac};

const ENGINES: [&str; 5] = ["xdp", "xdp-kernel-fib", "tc", "af-xdp", "af-packet"];
const FRAMES: usize = 40;

/// How long frames may take on a machine however busy.
const PATIENCE: Duration = Duration::from_secs(20);

/// Sends frames of so many bytes of payload from a to b, of which so many are `wanted`; says how
/// many came through.
fn pass(lab: &Lab, payload: usize, wanted: usize) -> usize {
    let (from, to) = (Raw::open(&lab.a, "e0"), Raw::open(&lab.b, "e1"));
    let macs = (mac(&lab.r, "r0"), mac(&lab.a, "e0"));
    let payload = [b"#corelane".to_vec(), vec![b'.'; payload]].concat();
    let frame = ipv4(macs, [10, 0, 0, 2], [10, 1, 0, 2], 9, &payload);
    for _ in 0..FRAMES {
        from.send(&frame);
    }
    let end = Instant::now() + PATIENCE;
    let mut arrived = 0;
    loop {
        match to.receive() {
            Some(frame) => arrived += usize::from(frame.get(42..51) == Some(b"#corelane")),
            None if arrived >= wanted || Instant::now() > end => return arrived,
            None => {}
        }
    }
}

/// A frame by port r0 for this address would go on, and others like it were lost behind the program:
/// explained with what to do.
fn is_told_behind(router: &Router, to: &str, reason: &str) {
    let told = router.explained(&[to, "--port", "r0"]);
    assert_eq!(told["fate"], "forwarded", "{told}");
    let behind = &told["behind"][0];
    assert_eq!(behind["name"], reason, "{told}");
    assert!(behind["frames"].as_u64().unwrap() > 0, "{told}");
    for key in ["meaning", "remedy"] {
        assert!(!behind[key].as_str().unwrap().is_empty(), "{told}");
    }
}

fn counts(router: &Router, port: &str, field: &str) -> u64 {
    let ports = router.show("ports");
    let row = ports
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["port"] == port)
        .unwrap();
    row[field].as_u64().unwrap()
}

#[test]
fn what_the_device_of_the_way_out_refuses_is_not_forwarded() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    for engine in &ENGINES[..2] {
        let router = lab.run(&["r0", "r1"], &["--engine", engine]);
        lab.wait_for_fast_path(&router, &["10.1.0.2"]);
        assert_eq!(pass(&lab, 1200, FRAMES), FRAMES);
        // A veth does not take what is longer than its peer's MTU.
        lab.b.ip("link set e1 mtu 1000").unwrap();
        let before = router.forwarded();
        assert_eq!(pass(&lab, 1200, 0), 0);
        let frames = FRAMES as u64;
        wait_for(&format!("{engine} to count what was refused"), 5, || {
            router.reason("egress-refused") == frames
        });
        lab.b.ip("link set e1 mtu 1500").unwrap();
        assert_eq!(counts(&router, "r1", "refused"), frames, "{engine}");
        is_told_behind(&router, "10.1.0.2", "egress-refused");
        assert!(router.forwarded() - before < frames, "{engine}");
    }
}

/// A tap that is there as long as the descriptor is open.
fn tap(lab: &Lab, name: &str) -> std::fs::File {
    const TUNSETIFF: libc::c_ulong = 0x4004_54ca;
    let mut request = [0_u8; 40];
    request[..name.len()].copy_from_slice(name.as_bytes());
    let flags = (libc::IFF_TAP | libc::IFF_NO_PI) as u16;
    request[16..18].copy_from_slice(&flags.to_ne_bytes());
    let open = || {
        let file = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/net/tun")
            .unwrap();
        // SAFETY: the request is an `ifreq`, which lives during the call.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF, request.as_mut_ptr()) };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
        file
    };
    lab.r.enter(open).unwrap()
}

/// A tap takes redirected frames, but none of several buffers.
#[test]
fn a_device_gets_no_frames_of_several_buffers_that_it_does_not_take() {
    if !is_root() || !std::fs::exists("/dev/net/tun").unwrap() {
        return;
    }
    let lab = Lab::new();
    lab.a.ip("link set e0 mtu 9000").unwrap();
    let mut tap = tap(&lab, "r2");
    let neighbour = "neigh add 10.2.0.2 dev r2 lladdr 02:00:00:00:00:09";
    for line in [
        "link set r0 mtu 9000",
        "link set r2 mtu 9000",
        "link set r2 up",
        "addr add 10.2.0.1/24 dev r2",
        neighbour,
    ] {
        lab.r.ip(line).unwrap();
    }
    let from = Raw::open(&lab.a, "e0");
    let macs = (mac(&lab.r, "r0"), mac(&lab.a, "e0"));
    let mut pass = |bytes: usize| {
        for _ in 0..FRAMES {
            from.send(&ipv4(
                macs,
                [10, 0, 0, 2],
                [10, 2, 0, 2],
                9,
                &vec![7; bytes],
            ));
        }
        let (mut arrived, end) = (0, Instant::now() + PATIENCE);
        while arrived < FRAMES && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(100));
            let mut buffer = [0; 10_000];
            arrived += std::iter::from_fn(|| tap.read(&mut buffer).ok())
                .filter(|length| *length == bytes + 42)
                .count();
        }
        arrived
    };
    assert_eq!(
        (pass(100), pass(8000)),
        (FRAMES, FRAMES),
        "the kernel alone"
    );
    for engine in &ENGINES[..2] {
        let router = lab.run(&["r0", "r2"], &["--engine", engine]);
        wait_for("the ports", 5, || router.state("r2") == "forwarding");
        assert_eq!(pass(100), FRAMES, "{engine}");
        wait_for("all to be counted", 5, || {
            router.forwarded() >= FRAMES as u64
        });
        assert_eq!(pass(8000), FRAMES, "{engine}: {:#}", router.show("drops"));
        assert_eq!(router.reason("no-redirect"), FRAMES as u64, "{engine}");
    }
}

/// Workers that do not run take nothing out of their sockets.
#[test]
fn what_the_sockets_of_workers_have_no_room_for_is_counted_and_explained() {
    const MANY: usize = 30_000;
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router = lab.run(
        &["r0", "r1"],
        &["--engine", "af-xdp", "--stale-milliseconds", "60000"],
    );
    lab.wait_for_fast_path(&router, &["10.1.0.2"]);
    let from = Raw::open(&lab.a, "e0");
    let macs = (mac(&lab.r, "r0"), mac(&lab.a, "e0"));
    let frame = ipv4(macs, [10, 0, 0, 2], [10, 1, 0, 2], 9, &[7; 100]);
    router.signal(libc::SIGSTOP);
    for _ in 0..MANY {
        from.send(&frame);
    }
    router.signal(libc::SIGCONT);
    wait_for("what found no room", 5, || router.reason("socket-full") > 0);
    is_told_behind(&router, "10.1.0.2", "socket-full");
}

/// A tap whose reader does not read: what its queue does not take, the socket of the way out does not.
/// A socket of `AF_XDP` takes it, and the tap says nothing of what it loses.
#[test]
fn what_the_socket_of_the_way_out_does_not_take_is_not_forwarded() {
    const MANY: usize = 2000;
    if !is_root() || !std::fs::exists("/dev/net/tun").unwrap() {
        return;
    }
    let lab = Lab::new();
    let _tap = tap(&lab, "r2");
    for line in [
        "link set r2 txqueuelen 100",
        "link set r2 up",
        "addr add 10.2.0.1/24 dev r2",
        "neigh add 10.2.0.2 dev r2 lladdr 02:00:00:00:00:09",
    ] {
        lab.r.ip(line).unwrap();
    }
    let from = Raw::open(&lab.a, "e0");
    let macs = (mac(&lab.r, "r0"), mac(&lab.a, "e0"));
    let frame = ipv4(macs, [10, 0, 0, 2], [10, 2, 0, 2], 9, &[7; 100]);
    let router = lab.run(&["r0", "r2"], &["--engine", "af-packet"]);
    wait_for("the ports", 5, || router.state("r2") == "forwarding");
    let told = router.explained(&["10.2.0.2", "--port", "r0"]);
    assert_eq!(told["fate"], "forwarded", "{told}");
    assert_eq!(told["behind"], serde_json::json!([]), "{told}");
    for _ in 0..MANY {
        from.send(&frame);
    }
    wait_for("what was not taken", 5, || {
        router.reason("transmit-full") > 1000
    });
    is_told_behind(&router, "10.2.0.2", "transmit-full");
    assert!(router.forwarded() < MANY as u64);
    // A capture says where to look, for it is found out behind the program.
    let (code, said) = router.captures_not(&["--reason", "transmit-full"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("corelane show drops"), "{said}");
}

#[test]
fn a_port_that_was_elsewhere_and_came_back_forwards_again() {
    if !is_root() {
        return;
    }
    for engine in ENGINES {
        let lab = Lab::new();
        let router = lab.run(&["r0", "r1"], &["--engine", engine]);
        lab.wait_for_fast_path(&router, &["10.1.0.2", "2001:db8:1::2"]);
        let elsewhere = lab.bed.namespace("a").unwrap().name().to_owned();
        lab.r.ip(format!("link set r1 netns {elsewhere}")).unwrap();
        wait_for("the port to go", 5, || router.state("r1") == "absent");
        let here = lab.bed.namespace("r").unwrap().name().to_owned();
        lab.a.ip(format!("link set r1 netns {here}")).unwrap();
        for line in [
            "addr add 10.1.0.1/24 dev r1",
            "link set r1 up",
            "-6 addr add 2001:db8:1::1/64 dev r1 nodad",
        ] {
            lab.r.ip(line).unwrap();
        }
        wait_for("the port to come back", 5, || {
            router.state("r1") == "forwarding"
        });
        lab.wait_for_fast_path(&router, &["10.1.0.2", "2001:db8:1::2"]);
        let before = router.forwarded();
        let arrived = pass(&lab, 100, FRAMES);
        assert_eq!(arrived, FRAMES, "{engine}: {:#}", router.show("drops"));
        // A worker counts a burst once it has left; others may have its core in between.
        wait_for(&format!("{engine} to count all as forwarded"), 5, || {
            router.forwarded() - before >= FRAMES as u64
        });
    }
}
