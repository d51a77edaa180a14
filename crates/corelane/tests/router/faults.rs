//! What goes wrong around it: interfaces that vanish, storms of routes, bad input.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;

use router::management_plane::client;

use super::lab::{Lab, Router, is_root, ping, wait_for};

#[test]
fn an_interface_may_be_deleted_under_load_and_return() {
    if !is_root() {
        return;
    }
    let mut lab = Lab::new();
    let mut router = lab.run(&["r0", "r1"], &[]);
    wait_for("the first answer", 5, || lab.ping("10.1.0.2"));
    let mut load = lab
        .a
        .command("ping")
        .args(["-q", "-i", "0.002", "-c", "3000", "10.1.0.2"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    lab.r.ip("link del r1").unwrap();
    wait_for("the port to be known as absent", 5, || {
        router.state("r1") == "absent"
    });
    assert_eq!(router.verify()["different"], 0);
    lab.link("b", 1);
    lab.b.ip("route replace default via 10.1.0.1").unwrap();
    wait_for("the port to forward again", 10, || {
        router.state("r1") == "forwarding" && lab.ping("10.1.0.2")
    });
    let before = router.forwarded();
    wait_for("the fast path", 10, || {
        lab.ping("10.1.0.2") && router.forwarded() > before + 10
    });
    assert_eq!(router.verify()["different"], 0);
    assert!(!router.ended());
    load.kill().unwrap();
    load.wait().unwrap();
}

#[test]
fn bad_input_starts_nothing_and_says_what_to_do() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let file = lab.path("bad.toml");
    std::fs::write(&file, "ports = [\"r0\", \"r1\"]\nengine = \"dpdk\"\n").unwrap();
    let said = lab.refused(&[file.to_str().unwrap()]);
    assert!(
        said.contains("bad.toml:2: engine = \"dpdk\": allowed are auto, xdp, xdp-kernel-fib"),
        "{said}"
    );
    let said = lab.refused(&["--port", "nosuch"]);
    assert!(said.contains("no interface `nosuch`"), "{said}");
    let native = ["--port", "r0", "--port", "nosuch", "--require", "native"];
    let said = lab.refused(&native);
    assert!(said.contains("no interface `nosuch`"), "{said}");
    let said = lab.refused(&[]);
    assert!(said.contains("ports"), "{said}");
    let first = lab.run(&["r0"], &[]);
    let said = lab.refused(&["--port", "r1", "--metrics", ""]);
    assert!(said.contains("another router answers on"), "{said}");
    drop(first);
    for (engine, holder) in [
        ("xdp", "another XDP program is attached"),
        ("auto", "another Corelane has its program at tc"),
    ] {
        let more = ["--engine", engine, "--instance", "second", "--metrics", ""];
        let first = lab.run(&["r0", "r1"], &["--engine", engine, "--instance", "first"]);
        let said = lab.refused(&[["--port", "r0"].as_slice(), &more].concat());
        assert!(said.contains(&format!("interface r0: {holder}")), "{said}");
        assert!(lab.ping("10.1.0.2"), "the first is not disturbed");
        drop(first);
    }
}

#[test]
fn a_flapping_table_ends_equal_to_the_kernels() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router = lab.run(&["r0", "r1"], &[]);
    wait_for("the first answer", 5, || lab.ping("10.1.0.2"));
    let mut lines = String::new();
    for round in 0..3u32 {
        for number in 0..34_000u32 {
            let verb = if round == 1 { "del" } else { "replace" };
            let via = if (number + round) % 2 == 0 {
                "10.0.0.2"
            } else {
                "10.1.0.2"
            };
            let via = if round == 1 {
                String::new()
            } else {
                format!(" via {via}")
            };
            writeln!(
                lines,
                "route {verb} 100.{}.{}.0/25{via}",
                number >> 8,
                number & 255
            )
            .unwrap();
        }
    }
    let file = lab.path("flap");
    std::fs::write(&file, lines).unwrap();
    let mut batch = lab
        .r
        .command("ip")
        .args(["-batch"])
        .arg(&file)
        .spawn()
        .unwrap();
    let mut answered = 0;
    while batch.try_wait().unwrap().is_none() {
        assert!(ping(&lab.a, "10.1.0.2", 10), "forwarding goes on");
        answered += 1;
    }
    assert!(answered > 0);
    wait_for("the mirror", 10, || {
        router.show("routes 1")["v4"].as_u64().unwrap() > 34_000
    });
    assert_eq!(router.verify()["different"], 0);
}

/// How often something that has failed was said.
fn said(router: &mut Router, what: &str) -> usize {
    let line = format!("event=failed what=\"{what}");
    router.log().matches(&line).count()
}

/// So many descriptors may be open, and no more.
fn allow_descriptors(router: &Router, count: libc::rlim_t) -> libc::rlim_t {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    let process = router.id().cast_signed();
    // SAFETY: the pointer is to a record that lives during the call.
    let asked = unsafe {
        libc::prlimit(
            process,
            libc::RLIMIT_NOFILE,
            std::ptr::null(),
            &raw mut limit,
        )
    };
    let before = std::mem::replace(&mut limit.rlim_cur, count);
    // SAFETY: as above.
    let set = unsafe {
        libc::prlimit(
            process,
            libc::RLIMIT_NOFILE,
            &raw const limit,
            std::ptr::null_mut(),
        )
    };
    assert_eq!((asked, set), (0, 0));
    before
}

#[test]
fn a_router_without_descriptors_lives_says_it_once_and_ends_equal() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let mut router = lab.run(&["r0", "r1"], &[]);
    lab.wait_for_fast_path(&router, &["10.1.0.2"]);
    lab.r.ip("nexthop add id 7 via 10.1.0.2 dev r1").unwrap();
    lab.r.ip("route add 198.51.100.0/24 nhid 7").unwrap();
    wait_for("the route", 5, || {
        let answer = router.show("routes 198.51.100.1");
        answer["answers"][0]["entries"][0]["kind"] == "adjacency"
    });
    let before = allow_descriptors(&router, 3);
    // What the kernel removes in silence has the tables read again.
    lab.r.ip("nexthop del id 7").unwrap();
    let reading = "reading the kernel's tables again";
    wait_for("the failure", 15, || said(&mut router, reading) == 1);
    lab.r.ip("route add blackhole 203.0.113.0/24").unwrap();
    assert!(ping(&lab.a, "10.1.0.2", 250), "forwarding goes on");
    assert!(!router.ended(), "{}", router.log());
    assert_eq!(said(&mut router, reading), 1, "however often it was tried");
    allow_descriptors(&router, before);
    wait_for("a re-read", 15, || {
        let log = router.log();
        log.contains(&format!("event=works-again what=\"{reading}")) && log.contains("event=resync")
    });
    lab.wait_for_fast_path(&router, &["10.1.0.2"]);
    assert_eq!(router.verify()["different"], 0);
    assert_eq!(router.show("engine")["failed"], serde_json::json!([]));
}

#[test]
fn metrics_whose_address_is_taken_or_not_there_yet_are_served_later() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let listen = || {
        lab.r
            .enter(|| TcpListener::bind("127.0.0.1:9470"))
            .unwrap()
            .unwrap()
    };
    let mut holder = Some(listen());
    lab.r.ip("addr del ::1/128 dev lo").unwrap();
    for address in ["127.0.0.1:9470", "[::1]:9470"] {
        let mut router = lab.run(&["r0", "r1"], &["--metrics", address]);
        lab.wait_for_fast_path(&router, &["10.1.0.2"]);
        let failed = router.show("engine")["failed"].to_string();
        assert!(failed.contains(address), "{failed}");
        if holder.take().is_none() {
            lab.r.ip("addr add ::1/128 dev lo").unwrap();
        }
        let page = || {
            let mut client = TcpStream::connect(address).ok()?;
            client.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").ok()?;
            let mut page = String::new();
            client.read_to_string(&mut page).ok()?;
            Some(page)
        };
        let is_served = || {
            let page = lab.r.enter(page).unwrap();
            page.is_some_and(|page| page.ends_with("# EOF\n"))
        };
        wait_for("the metrics", 15, is_served);
        assert_eq!(said(&mut router, "serving the metrics"), 1, "once");
        assert!(router.log().contains("--metrics"), "the remedy");
    }
}

#[test]
fn it_forwards_though_nobody_reads_that_it_does_and_nobody_can_ask_it() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    // A file stands where the directory is to be.
    let directory = lab.path("run");
    std::fs::write(&directory, "").unwrap();
    let mut program = lab.r.command(env!("CARGO_BIN_EXE_corelane"));
    let words = [
        "run",
        "--port",
        "r0",
        "--port",
        "r1",
        "--metrics",
        "",
        "--run-directory",
    ];
    let program = program.args(words).arg(&directory);
    let full = std::fs::File::create("/dev/full").unwrap();
    let log = lab.path("log");
    let program = program
        .stdout(full)
        .stderr(std::fs::File::create(&log).unwrap());
    let mut router = program.spawn().unwrap();
    let attached = || {
        let r0 = bpf::attach::index_of("r0").unwrap();
        bpf::sys::programs_attached(r0, bpf::sys::ATTACH_TCX_INGRESS).unwrap()
    };
    wait_for("the program", 30, || lab.r.enter(attached).unwrap() == 1);
    wait_for("the log", 5, || {
        let log = std::fs::read_to_string(&log).unwrap();
        log.contains("what=\"answering on the control socket")
    });
    std::fs::remove_file(&directory).unwrap();
    let socket = directory.join("default.sock");
    wait_for("an answer", 15, || client::ask(&socket, "ports").is_ok());
    let shown = client::ask(&socket, "ports").unwrap();
    assert!(shown.contains("forwarding"), "{shown}");
    assert!(router.try_wait().unwrap().is_none(), "it ended");
    router.kill().unwrap();
    router.wait().unwrap();
}
