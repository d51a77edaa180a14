//! How long after a route change in the kernel the first packet takes the new way, with the
//! Internet's table loaded.
//!
//! A host sends without pause to an address that the router reaches by either of two hosts. The
//! route to it is replaced over and over, and each time the clock runs from the kernel's
//! acknowledgement to the first packet that arrives at the other host. Sums of the packets are
//! complete, so that they go past the kernel; the counters say that they did. Then the same once
//! more while the router reads the kernel's tables again without pause.
//!
//! `cargo run --release -p router --example route_change [CHANGES]`, as root. `CORELANE_PREFIXES`
//! names a prefix file.

use std::fmt::Write as _;
use std::io::Read as _;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fastpath::forward::Capacity;
use host::Namespace;
use host::bed::{Bed, side};
use host::namespace::OnFailure;
use host::netlink::{ROUTE, Socket, append};
use host::offload::Offload;
use report::Table;
use router::control_plane::follower::Follower;
use router::engine::{self, EngineKind, Require, SocketOptions};
use router::management_plane::answers::resident;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const TARGET: [u8; 4] = [192, 0, 2, 1];
const PORT: u16 = 9000;

fn main() -> Result<(), Failure> {
    let changes = std::env::args()
        .nth(1)
        .map_or(Ok(1000), |text| text.parse())?;
    let mut plan = Bed::plan().set("r", "net.ipv4.ip_forward", "1");
    for (number, host) in [(0, "a"), (1, "b"), (2, "c")] {
        let router = side("r", &format!("r{number}"))
            .address(format!("10.{number}.0.1/24"))
            .neighbour(format!("10.{number}.0.2"));
        let end = side(host, "e")
            .address(format!("10.{number}.0.2/24"))
            .switch(Offload::GenericReceive, true)
            .switch(Offload::Checksums, false);
        let line = format!("route replace default via 10.{number}.0.1");
        plan = plan.cable(router, end).ip(host, line);
        if number > 0 {
            plan = plan.ip(host, "addr replace 192.0.2.1/32 dev lo");
        }
    }
    let bed = plan.lay()?;
    let place = |name| bed.namespace(name).cloned();
    let (a, r, b, c) = (place("a")?, place("r")?, place("b")?, place("c")?);
    let routes = load(&r)?;
    let orders = Orders::default();
    let (times, again, loaded) = std::thread::scope(|scope| {
        let router = scope.spawn(|| r.enter(|| route(&orders)));
        let mut measured = measure(changes, &a, [&b, &c], &r, &orders.ready);
        let mut again = Ok(Vec::new());
        if measured.is_ok() {
            orders.reread.store(true, Ordering::Relaxed);
            again = measure(changes, &a, [&b, &c], &r, &orders.ready);
        }
        orders.stop.store(true, Ordering::Relaxed);
        if let Ok(times) = &mut measured {
            times.sort_unstable();
        }
        match router.join() {
            Ok(Ok(Ok(loaded))) => Ok((measured?, again?, loaded)),
            Ok(Ok(Err(error))) => Err(error),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err("the router's thread panicked".into()),
        }
    })?;
    report(&times, again, routes, loaded);
    Ok(())
}

/// What the router is to do, and whether it forwards.
#[derive(Default)]
struct Orders {
    stop: AtomicBool,
    ready: AtomicBool,
    reread: AtomicBool,
}

/// Prints what was measured beside what it must and should be.
fn report(times: &[Duration], mut again: Vec<Duration>, routes: usize, loaded: Loaded) {
    again.sort_unstable();
    let of = |times: &[Duration], share: f64| {
        times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3
    };
    println!("{} changes, {routes} routes", times.len());
    for (when, times) in [("else idle", times), ("re-reading", &again)] {
        println!(
            "{when}: median {:.3} ms, longest {:.3} ms",
            of(times, 0.5),
            of(times, 1.0)
        );
    }
    println!(
        "{} re-reads, {:.2} s each",
        loaded.rereads, loaded.reread_seconds
    );
    let mut table = Table::new("Following the kernel")
        .text("what")
        .number("must")
        .number("goal")
        .number("measured")
        .text("");
    for (what, unit, must, goal, measured) in [
        (
            "full table from the kernel's dump to forwarding",
            "s",
            5.0,
            1.5,
            loaded.seconds,
        ),
        (
            "a route change in the kernel until the first packet takes it, p99",
            "ms",
            20.0,
            2.0,
            of(times, 0.99),
        ),
        (
            "the same while the kernel's tables are read again, p99",
            "ms",
            20.0,
            2.0,
            of(&again, 0.99),
        ),
        (
            "resident memory with the full table",
            "MiB",
            400.0,
            150.0,
            loaded.resident,
        ),
    ] {
        let word = if measured <= goal {
            "goal"
        } else if measured <= must {
            "must"
        } else {
            "missed"
        };
        let bound = |value: f64| format!("at most {value} {unit}");
        let cells = [bound(must), bound(goal), format!("{measured:.3} {unit}")];
        table.push(
            [what.to_owned()]
                .into_iter()
                .chain(cells)
                .chain([word.to_owned()]),
        );
    }
    println!("\n{}", table.to_text());
}

/// What was seen when the router had the table.
#[derive(Clone, Copy)]
struct Loaded {
    /// From the kernel's dump to forwarding.
    seconds: f64,
    /// Resident memory, MiB.
    resident: f64,
    /// How often the tables were read again.
    rereads: u64,
    /// How long the latest took, with a route changed all the time.
    reread_seconds: f64,
}

/// Loads every prefix into the kernel; returns how many.
fn load(r: &Namespace) -> Result<usize, Failure> {
    let beside =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/internet-prefixes.txt.gz");
    let file = std::env::var_os("CORELANE_PREFIXES").map_or(beside, PathBuf::from);
    let prefixes = if file.exists() {
        let mut gzip = Command::new("gzip")
            .arg("-dc")
            .arg(&file)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut text = Vec::new();
        if let Some(out) = gzip.stdout.as_mut() {
            out.read_to_end(&mut text)?;
        }
        gzip.wait()?;
        fib::prefix_file::read(&text[..], &file.display().to_string())?
    } else {
        fib::generated::internet(1)
    };
    let mut lines = String::new();
    for (number, prefix) in prefixes.v4.iter().enumerate() {
        writeln!(
            lines,
            "route replace {prefix} via 10.{}.0.2",
            1 + number % 2
        )?;
    }
    r.batch(&lines, OnFailure::Continue)?;
    Ok(prefixes.v4.len())
}

fn route(orders: &Orders) -> Result<Loaded, Failure> {
    let ports: Vec<String> = ["r0", "r1", "r2"].map(String::from).to_vec();
    let engine = engine::open(
        EngineKind::Xdp,
        &ports,
        Require::Native,
        SocketOptions::default(),
        Capacity::default(),
        true,
    )?;
    let mut follower = Follower::start(&ports, engine)?;
    let health = follower.health();
    let mut loaded = Loaded {
        rereads: 0,
        reread_seconds: 0.0,
        seconds: health.load.as_secs_f64(),
        resident: resident() as f64 / f64::from(1 << 20),
    };
    println!(
        "forwarding state: {:.1} MiB",
        follower.engine().answers().memory() as f64 / (1 << 20) as f64
    );
    orders.ready.store(true, Ordering::Release);
    while !orders.stop.load(Ordering::Relaxed) {
        if orders.reread.load(Ordering::Relaxed) && !follower.is_resyncing() {
            follower.begin_resync("the benchmark");
        }
        let patience = if follower.is_busy() { 0 } else { 50 };
        let mut poll = libc::pollfd {
            fd: follower.descriptor().as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one valid pollfd.
        unsafe { libc::poll(&raw mut poll, 1, patience) };
        follower.follow();
        follower.tick(Instant::now());
    }
    loaded.rereads = follower.health().resyncs;
    loaded.reread_seconds = follower.health().resync.as_secs_f64();
    let counters = follower.engine().counters()?;
    let forwarded: u64 = counters.ports.values().map(|count| count.forwarded).sum();
    let received: u64 = counters.ports.values().map(|count| count.received).sum();
    println!("{forwarded} of {received} frames went past the kernel");
    let verification = follower.verify()?;
    println!(
        "{} answers compared, {} differ, {:.2} s",
        verification.compared,
        verification.different,
        verification.took.as_secs_f64()
    );
    Ok(loaded)
}

fn measure(
    changes: usize,
    a: &Namespace,
    hosts: [&Namespace; 2],
    r: &Namespace,
    ready: &AtomicBool,
) -> Result<Vec<Duration>, Failure> {
    let sender = a.enter(|| UdpSocket::bind(("10.0.0.2", 0)))??;
    let listen = |host: &Namespace| -> Result<UdpSocket, Failure> {
        let socket = host.enter(|| UdpSocket::bind((std::net::Ipv4Addr::from(TARGET), PORT)))??;
        socket.set_nonblocking(true)?;
        Ok(socket)
    };
    let arrivals = [listen(hosts[0])?, listen(hosts[1])?];
    let mut netlink = r.enter(|| Socket::open(ROUTE, &[]))??;
    let links = [r.interface_index("r1")?, r.interface_index("r2")?];
    while !ready.load(Ordering::Acquire) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut times = Vec::with_capacity(changes);
    for change in 0..changes {
        let way = change % 2;
        replace(&mut netlink, way as u8 + 1, links[way])?;
        let began = Instant::now();
        let mut buffer = [0; 64];
        loop {
            sender.send_to(b"x", (std::net::Ipv4Addr::from(TARGET), PORT))?;
            while arrivals[1 - way].recv(&mut buffer).is_ok() {}
            if arrivals[way].recv(&mut buffer).is_ok() {
                break;
            }
            if began.elapsed() > Duration::from_secs(5) {
                return Err("no packet took the new way within five seconds".into());
            }
        }
        times.push(began.elapsed());
        // The rest of the old way's packets, and a pause that is not a multiple of anything.
        std::thread::sleep(Duration::from_micros(1700 + 13 * (change as u64 % 97)));
        while arrivals[way].recv(&mut buffer).is_ok() {}
    }
    Ok(times)
}

/// Replaces the route to the target; returns when the kernel has acknowledged.
fn replace(netlink: &mut Socket, way: u8, link: u32) -> Result<(), Failure> {
    let mut body = vec![0; 12];
    (body[0], body[1]) = (libc::AF_INET as u8, 32);
    (body[4], body[5], body[7]) = (254, libc::RTPROT_STATIC, libc::RTN_UNICAST);
    append(&mut body, libc::RTA_DST, &TARGET);
    append(&mut body, libc::RTA_GATEWAY, &[10, way, 0, 2]);
    append(&mut body, libc::RTA_OIF, &link.to_ne_bytes());
    let flags = libc::NLM_F_CREATE | libc::NLM_F_REPLACE | libc::NLM_F_ACK;
    netlink.request(libc::RTM_NEWROUTE, flags as u16, &body)?;
    let mut acknowledged = false;
    while !acknowledged {
        netlink.wait(Duration::from_secs(1));
        netlink.receive_answer(false, |message| {
            acknowledged |= i32::from(message.kind) == libc::NLMSG_ERROR;
        })?;
    }
    Ok(())
}
