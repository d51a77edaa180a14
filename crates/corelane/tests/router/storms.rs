//! Storms: more of something than anybody should have. The process lives and ends equal to the
//! kernel, no frame of others is lost, and route changes are taken meanwhile as ever. A test has a
//! little of each (of ports, in `limits`); `make soak` has all of it, and asks for speed.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use host::Namespace;
use host::namespace::OnFailure;

use super::changes::{Changes, lab, soak};
use super::lab::{Lab, Router, is_root, ping, wait_for};

const METRICS: &str = "127.0.0.1:9470";

/// So many in a test, so many in a soak.
fn amount(test: u32, whole: u32) -> u32 {
    if soak().is_some() { whole } else { test }
}

/// One line for each number.
fn lines(numbers: std::ops::Range<u32>, line: impl Fn(u32) -> String) -> String {
    numbers.fold(String::new(), |mut lines, number| {
        writeln!(lines, "{}", line(number)).unwrap();
        lines
    })
}

fn batch(place: &Namespace, lines: &str) {
    place.batch(lines, OnFailure::Stop).unwrap();
}

/// Runs a storm beside traffic and route changes; then everything must be as before.
fn weather(lab: &Lab, router: &mut Router, name: &str, storm: impl FnOnce(&Router) + Send) {
    lab.wait_for_fast_path(router, &["10.1.0.2", "10.2.0.2"]);
    let mut changes = Changes::new(lab);
    let over = AtomicBool::new(false);
    let answered = std::thread::scope(|scope| {
        let pings = scope.spawn(|| {
            let mut all = true;
            while all && !over.load(Ordering::Acquire) {
                all = ping(&lab.a, "10.1.0.2", 50);
            }
            all
        });
        let outcome = catch_unwind(AssertUnwindSafe(|| changes.during(|| storm(router))));
        over.store(true, Ordering::Release);
        outcome.unwrap_or_else(|panic| resume_unwind(panic));
        pings.join().unwrap()
    });
    assert!(answered, "{name}: a ping was lost");
    assert!(!router.ended(), "{name}: {}", router.log());
    wait_for("the ports", 10, || {
        ["r0", "r1", "r2"]
            .iter()
            .all(|port| router.state(port) == "forwarding")
    });
    lab.wait_for_fast_path(router, &["10.1.0.2", "10.2.0.2"]);
    assert_eq!(router.verify()["different"], 0, "{name}");
    assert_eq!(router.reason("stale"), 0, "{name}: nobody vouched");
    let log = router.log();
    assert!(log.lines().all(|line| line.len() <= 400), "{name}: {log}");
    changes.report(name);
}

#[test]
fn interfaces_by_the_thousand_come_and_go() {
    if !is_root() {
        return;
    }
    // While the kernel removes so many by one command, it keeps everybody waiting for its lock
    // (rtnl) for seconds: who asks it something, and who changes a route.
    let pairs = amount(50, 2500);
    let lab = lab();
    let mut router = lab.run(&["r0", "r1", "r2"], &[]);
    weather(&lab, &mut router, "interfaces", |router| {
        let add = |n: u32| {
            let (high, low) = (n >> 8, n & 255);
            format!(
                "link add x{n} group 7 type veth peer name y{n} group 7\nlink set x{n} up\nlink \
                 set y{n} up\naddr add 172.16.{high}.{low}/32 dev x{n}\nroute add \
                 172.20.{high}.{low}/32 dev x{n}\naddr add 2001:db8:99::{n:x}/128 dev x{n}"
            )
        };
        batch(&lab.r, &lines(0..pairs, add));
        wait_for("all interfaces", 60, || {
            router.show("routes 172.16.0.1")["answers"][0]["entries"][0]["kind"] == "local"
        });
        batch(&lab.r, "link del group 7\n");
    });
}

#[test]
fn a_hundred_changes_of_rules_a_second_are_heeded() {
    if !is_root() || !needs::program("nft") {
        return;
    }
    let lab = lab();
    let mut router = lab.run(&["r0", "r1", "r2"], &[]);
    weather(&lab, &mut router, "rules", |router| {
        // All at once, by one program: one that is started for each is not that fast.
        let mut command = lab.r.command("nft");
        let command = command.arg("-i").stdin(Stdio::piped());
        let mut nft = command.stdout(Stdio::null()).spawn().unwrap();
        let mut input = nft.stdin.take().unwrap();
        let chain = "add table ip t; add chain ip t f { type filter hook forward priority 0; }";
        writeln!(input, "{chain}").unwrap();
        for _ in 0..amount(25, 500) {
            writeln!(input, "add rule ip t f ip ttl 255 counter").unwrap();
            std::thread::sleep(Duration::from_millis(10));
            writeln!(input, "flush chain ip t f").unwrap();
            std::thread::sleep(Duration::from_millis(10));
        }
        writeln!(input, "add rule ip t f ip ttl 255 counter").unwrap();
        wait_for("what is there at the end", 5, || {
            router
                .left_to_kernel()
                .iter()
                .any(|what| what.contains("chain t f"))
        });
        writeln!(input, "delete table ip t").unwrap();
        drop(input);
        assert!(nft.wait().unwrap().success());
        wait_for("no rules", 5, || router.left_to_kernel().is_empty());
    });
    assert!(router.log().contains("event=left-to-kernel"));
}

#[test]
fn neighbours_by_the_thousand_come_and_go() {
    if !is_root() {
        return;
    }
    // The kernel keeps about a thousand, unless it is told otherwise.
    let (count, moves) = (amount(500, 1000), amount(1, 60));
    let mut lab = lab();
    lab.link("d", 3);
    lab.r.ip("addr add 10.64.0.1/16 dev r3").unwrap();
    let mut router = lab.run(&["r0", "r1", "r2", "r3"], &[]);
    weather(&lab, &mut router, "neighbours", |router| {
        let neighbour = |n: u32| format!("10.64.{}.{} dev r3", n >> 8, n & 255);
        let in_use = |router: &Router| router.show("routes 0")["next_hops"].as_u64().unwrap();
        let all = 256..256 + count;
        for number in 0..=moves {
            let add = |n: u32| {
                let mac = format!("02:00:00:{number:02x}:{:02x}:{:02x}", n >> 8, n & 255);
                format!("neigh replace {} lladdr {mac} nud permanent", neighbour(n))
            };
            batch(&lab.r, &lines(all.clone(), add));
        }
        wait_for("all neighbours", 20, || in_use(router) >= u64::from(count));
        batch(
            &lab.r,
            &lines(all, |n| format!("neigh del {}", neighbour(n))),
        );
        wait_for("none of them", 20, || in_use(router) < 100);
    });
}

#[test]
fn a_port_that_comes_and_goes_disturbs_no_other() {
    if soak().is_none() || !is_root() {
        return;
    }
    let mut lab = lab();
    lab.link("d", 3);
    let mut router = lab.run(&["r0", "r1", "r2", "r3"], &[]);
    weather(&lab, &mut router, "a port", |router| {
        lab.r.ip("link del r3").unwrap();
        for _ in 0..1000 {
            let flap = "link add r3 type veth peer name p3\nlink set r3 up\nlink set p3 up\naddr \
                        add 10.3.0.1/24 dev r3\n";
            batch(&lab.r, flap);
            wait_for("the port", 20, || router.state("r3") == "forwarding");
            batch(&lab.r, "link del r3\n");
        }
    });
}

#[test]
fn another_program_on_a_port_disturbs_no_other() {
    if soak().is_none() || !is_root() {
        return;
    }
    let mut lab = lab();
    lab.link("d", 3);
    let file = lab.path("router.toml");
    let configure = |router: Option<&Router>, ports: &str| {
        let text = format!("ports = [{ports}]\nmetrics = \"\"\n");
        std::fs::write(&file, text).unwrap();
        if let Some(router) = router {
            router.signal(libc::SIGHUP);
        }
    };
    let (few, all) = (r#""r0", "r1", "r2""#, r#""r0", "r1", "r2", "r3""#);
    configure(None, few);
    let words = ["run", file.to_str().unwrap()].map(str::to_owned);
    let mut router = lab.run_words(&words);
    weather(&lab, &mut router, "another program", |router| {
        for _ in 0..100 {
            let foreign = lab.run(&["r3"], &["--instance", "foreign"]);
            configure(Some(router), all);
            wait_for("the failure", 5, || {
                let ports = router.show("ports");
                ports.as_array().unwrap().len() == 4 && router.state("r3") == "failed"
            });
            drop(foreign);
            configure(Some(router), few);
            wait_for("the port to be none", 5, || {
                router.show("ports").as_array().unwrap().len() == 3
            });
        }
    });
}

#[test]
fn clients_that_send_a_byte_now_and_then_hold_up_nobody() {
    if !is_root() {
        return;
    }
    let lab = lab();
    let ports = ["r0", "r1", "r2"].map(|port| ["--port", port]).concat();
    let words = [vec!["run"], ports, vec!["--metrics", METRICS]].concat();
    let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    let mut router = lab.run_words(&words);
    let connect = || {
        lab.r
            .enter(|| TcpStream::connect(METRICS).unwrap())
            .unwrap()
    };
    // In a test they are as slow as it can wait for: the router's own test has the time-out.
    let pause = Duration::from_millis(amount(50, 9000).into());
    weather(&lab, &mut router, "slow clients", |_| {
        let mut slow: Vec<TcpStream> = (0..24).map(|_| connect()).collect();
        for byte in b"GET /".iter().take(amount(5, 3) as usize) {
            for client in &mut slow {
                // One whose time is over is turned away.
                let _sent = client.write_all(&[*byte]);
            }
            let mut client = connect();
            let began = Instant::now();
            client.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
            let mut page = String::new();
            client.read_to_string(&mut page).unwrap();
            assert!(page.ends_with("# EOF\n"), "{page}");
            let waited = began.elapsed();
            assert!(waited < Duration::from_secs(5), "{waited:?} for the page");
            std::thread::sleep(pause);
        }
        if soak().is_some() {
            // Beyond the ten seconds that a client has.
            let gone = |client: &mut TcpStream| {
                client.set_nonblocking(true).unwrap();
                let read = client.read(&mut [0]).map_err(|error| error.kind());
                read != Err(std::io::ErrorKind::WouldBlock)
            };
            assert!(
                slow.iter_mut().all(gone),
                "somebody still waits for their request"
            );
        }
    });
}
