//! A router namespace `r` between hosts `a` and `b`, and a running `corelane` in it.

use std::io::{BufRead, BufReader, Read};
use std::ops::Deref;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use host::Namespace;
use host::bed::{Bed, Side, side};
use host::offload::Offload;
use router::management_plane::client;
use router::management_plane::config::InstanceName;
use serde_json::Value;

use crate::schemas::assert_is;

/// Is this root? Says so when not.
pub(crate) fn is_root() -> bool {
    needs::root("for network namespaces and XDP")
}

/// How much longer than on a quiet machine things may take on one whose cores are others' too.
const BUSY: u64 = 8;

/// Waits until `ready` says so, which takes at most `seconds` on a quiet machine.
pub(crate) fn wait_for(what: &str, seconds: u64, mut ready: impl FnMut() -> bool) {
    let seconds = BUSY * seconds;
    let end = Instant::now() + Duration::from_secs(seconds);
    while !ready() {
        assert!(Instant::now() < end, "waited {seconds} s for {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The router's end of cable `number` and that of `host`.
fn ends(host: &str, number: u32) -> (Side, Side) {
    let end = |place, letter, last| {
        side(place, &format!("{letter}{number}"))
            .address(format!("10.{number}.0.{last}/24"))
            .address(format!("2001:db8:{number}::{last}/64"))
    };
    // A veth takes redirected frames only when its peer aggregates, or runs a program itself.
    let outside = end(host, "e", 2).switch(Offload::GenericReceive, true);
    (end("r", "r", 1), outside)
}

/// a (10.0.0.2) - r0 r r1 - b (10.1.0.2), and the same in IPv6 (`2001:db8:0::`, `2001:db8:1::`).
pub(crate) struct Lab {
    pub(crate) a: Namespace,
    pub(crate) r: Namespace,
    pub(crate) b: Namespace,
    pub(crate) bed: Bed,
    pub(crate) directory: tempfile::TempDir,
}

impl Lab {
    pub(crate) fn new() -> Self {
        Self::with_queues(1)
    }

    /// The same with so many queues at each end of each cable.
    pub(crate) fn with_queues(queues: u32) -> Self {
        let mut plan = Bed::plan().forwarding("r").queues(queues);
        for place in ["a", "r", "b"] {
            // Neighbour discovery needs link-local addresses, and the tests do not wait for
            // duplicates to be looked for.
            plan = plan
                .set(place, "net.ipv6.conf.default.addr_gen_mode", "0")
                .set(place, "net.ipv6.conf.default.accept_dad", "0");
        }
        for (number, host) in [(0, "a"), (1, "b")] {
            let (end, outside) = ends(host, number);
            plan = plan
                .cable(end, outside)
                .ip(host, format!("route add default via 10.{number}.0.1"))
                .ip(host, format!("route add default via 2001:db8:{number}::1"));
        }
        let bed = plan.lay().unwrap();
        let [a, r, b] = ["a", "r", "b"].map(|place| bed.namespace(place).unwrap().clone());
        let directory = tempfile::tempdir().unwrap();
        Self {
            a,
            r,
            b,
            bed,
            directory,
        }
    }

    /// Links interface `e<number>` of `host` (10.<number>.0.2) with `r<number>` of the router
    /// (10.<number>.0.1). A host that is not there yet is made.
    pub(crate) fn link(&mut self, host: &str, number: u32) -> Namespace {
        self.link_with(host, number, 1)
    }

    /// As [`Lab::link`], with so many queues.
    pub(crate) fn link_with(&mut self, host: &str, number: u32, queues: u32) -> Namespace {
        let (end, outside) = ends(host, number);
        let plan = Bed::plan().queues(queues).cable(end, outside);
        self.bed.add(&plan).unwrap();
        self.bed.namespace(host).unwrap().clone()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Starts a router between `ports`, with room for some thousand routes, and waits for its ready
    /// line. Memory for the Internet's table takes longer to make than most tests.
    pub(crate) fn run(&self, ports: &[&str], more: &[&str]) -> Router {
        let file = self.path("few-routes.toml");
        let keys = "metrics = \"\"\ntable-words = 131072\nvrf-words = 8192\n";
        std::fs::write(&file, format!("ports = {ports:?}\n{keys}")).unwrap();
        let words = ["run", file.to_str().unwrap()].into_iter();
        let words = words.chain(more.iter().copied()).map(str::to_owned);
        self.run_words(&words.collect::<Vec<_>>())
    }

    /// The same by options alone, with the room that there is unless told.
    pub(crate) fn run_roomy(&self, ports: &[&str], more: &[&str]) -> Router {
        let ports = ports.iter().flat_map(|port| ["--port", port]);
        let words = ["run", "--metrics", ""].into_iter().chain(ports);
        let words = words.chain(more.iter().copied()).map(str::to_owned);
        self.run_words(&words.collect::<Vec<_>>())
    }

    /// Starts a router with exactly these arguments.
    pub(crate) fn run_words(&self, words: &[String]) -> Router {
        let mut child = self
            .r
            .command(env!("CARGO_BIN_EXE_corelane"))
            .args(words)
            .arg("--run-directory")
            .arg(self.directory.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let out = lines(child.stdout.take().unwrap());
        let log = lines(child.stderr.take().unwrap());
        let ready = out.recv_timeout(Duration::from_mins(1));
        let mut router = Router {
            child,
            log: Mutex::new(log),
            seen: String::new(),
            ready: String::new(),
            socket: Socket(self.directory.path().into()),
        };
        router.ready = ready.unwrap_or_else(|_| panic!("no ready line; log: {}", router.log()));
        assert!(router.ready.starts_with("ready "), "{}", router.ready);
        router
    }

    /// Runs a router that must refuse to start; returns what it said.
    pub(crate) fn refused(&self, words: &[&str]) -> String {
        let output = self
            .r
            .command(env!("CARGO_BIN_EXE_corelane"))
            .arg("run")
            .args(words)
            .arg("--run-directory")
            .arg(self.directory.path())
            .output()
            .unwrap();
        assert!(!output.status.success(), "it started");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Waits until pings from a go past the kernel in both directions: every neighbour is resolved,
    /// and the router has heard of it.
    pub(crate) fn wait_for_fast_path(&self, router: &Socket, addresses: &[&str]) {
        for address in addresses {
            wait_for(&format!("the fast path to {address}"), 30, || {
                let before = router.forwarded();
                self.ping(address) && router.forwarded() >= before + 2
            });
        }
    }

    /// One ping from a to b's address; true when answered.
    pub(crate) fn ping(&self, address: &str) -> bool {
        ping(&self.a, address, 1)
    }

    /// 20 MB over one TCP connection from a to b's address, by iperf3; fails the test unless most
    /// arrives.
    pub(crate) fn tcp(&self, address: &str) {
        let mut server = self
            .b
            .command("iperf3")
            .args(["-s", "-1"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut sent = String::new();
        wait_for("the iperf3 server", 5, || {
            let arguments = ["-c", address, "-n", "20M", "--connect-timeout", "300"];
            let output = self.a.command("iperf3").args(arguments).output().unwrap();
            sent = text(&output);
            output.status.success()
        });
        server.wait().unwrap();
        assert!(sent.contains("receiver"), "{sent}");
    }
}

/// Sends `count` pings 20 ms apart; true when each was answered.
///
/// The deadline is a second and five times what they take. Until it, ping sends more while answers
/// are missing. Without a deadline it waits 20 ms for the last answer, and a busy machine may take
/// longer.
pub(crate) fn ping(from: &Namespace, address: &str, count: u32) -> bool {
    let deadline = (1 + count / 10).to_string();
    let number = count.to_string();
    let words = ["-n", "-i", "0.02", "-w", &deadline, "-c", &number, address];
    // Ping needs nothing else of the namespace, for which `ip netns exec` would be one more program.
    let output = from.enter(|| Command::new("ping").args(words).output());
    let said = text(&output.unwrap().unwrap());
    (1..=count).all(|number| said.contains(&format!("icmp_seq={number} ttl=")))
}

/// Everything a command printed.
pub(crate) fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// A running router.
pub(crate) struct Router {
    child: Child,
    /// So that several threads can ask the router.
    log: Mutex<Receiver<String>>,
    seen: String,
    pub(crate) ready: String,
    socket: Socket,
}

impl Deref for Router {
    type Target = Socket;

    fn deref(&self) -> &Socket {
        &self.socket
    }
}

impl Router {
    /// What it logged so far.
    pub(crate) fn log(&mut self) -> &str {
        for line in self.log.get_mut().unwrap().try_iter() {
            self.seen.push_str(&line);
            self.seen.push('\n');
        }
        &self.seen
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: libc::c_int) {
        // SAFETY: no pointers; the child has not been waited for, so the number is still its own.
        unsafe { libc::kill(self.child.id().cast_signed(), signal) };
    }

    /// Ends it by a signal and waits until it is gone.
    pub(crate) fn end(&mut self, signal: libc::c_int) -> Option<i32> {
        self.signal(signal);
        self.child.wait().unwrap().code()
    }

    /// Has it ended by itself?
    pub(crate) fn ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

/// The run directory of a router, which answers there.
pub(crate) struct Socket(pub(crate) PathBuf);

impl Socket {
    /// What `corelane show --json` prints of a subject, asked without starting that program.
    pub(crate) fn show(&self, subject: &str) -> Value {
        let socket = InstanceName::default().socket(&self.0);
        let answer = client::ask(&socket, subject).unwrap();
        let value: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(value.get("error"), None, "{subject}: {answer}");
        value[subject.split_whitespace().next().unwrap()].clone()
    }

    /// Whether its answers are the kernel's now. Those of a link that went down leave part by part.
    pub(crate) fn is_equal(&self) -> bool {
        let mut command = Command::new(env!("CARGO_BIN_EXE_corelane"));
        command.args(["verify", "--json", "--run-directory"]);
        command.arg(&self.0).output().unwrap().status.success()
    }

    /// Compares with the kernel; panics with the differences.
    pub(crate) fn verify(&self) -> Value {
        let output = Command::new(env!("CARGO_BIN_EXE_corelane"))
            .args(["verify", "--json", "--run-directory"])
            .arg(&self.0)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output));
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_is("corelane-verify", &value);
        value["verification"].clone()
    }

    /// Frames that it forwarded itself.
    pub(crate) fn forwarded(&self) -> u64 {
        let ports = self.show("ports");
        ports
            .as_array()
            .unwrap()
            .iter()
            // One that is absent has no counts.
            .filter_map(|port| port["forwarded"].as_u64())
            .sum()
    }

    /// Frames with this reason.
    pub(crate) fn reason(&self, reason: &str) -> u64 {
        let drops = self.show("drops");
        let rows = drops
            .as_array()
            .unwrap()
            .iter()
            .filter(|row| row["reason"] == reason);
        rows.map(|row| row["frames"].as_u64().unwrap()).sum()
    }

    /// The state of a port.
    pub(crate) fn state(&self, port: &str) -> String {
        let ports = self.show("ports");
        let row = ports
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["port"] == port)
            .unwrap();
        row["state"].as_str().unwrap().to_owned()
    }

    /// What keeps ports or families with the kernel, as it says itself.
    pub(crate) fn left_to_kernel(&self) -> Vec<String> {
        let engine = self.show("engine");
        let reasons = engine["left_to_kernel"].as_array().unwrap().iter();
        reasons
            .map(|reason| reason.as_str().unwrap().to_owned())
            .collect()
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        if !self.ended() {
            self.end(libc::SIGTERM);
        }
        if std::thread::panicking() {
            println!("the router's log:\n{}", self.log());
        }
    }
}
