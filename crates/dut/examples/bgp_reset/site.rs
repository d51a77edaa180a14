//! Where it happens: `source` sends through `r` to `sink`; `peer` announces routes to `r`.
//!
//! Namespaces, cables and files are those of a bed and of a temporary directory; the programs end
//! with the thread that started them.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use std::{fs, thread};

use dut::routes::Routes;
use fastpath::generate::{Destinations, Frames, Generator};
use fastpath::sink::{Checks, Sink};
use host::Namespace;
use host::bed::{Bed, side};
use host::offload::Offload;
use host::process::{Group, Signal, end_with_thread, signal, silent};
use host::temporary::Directory;
use router::management_plane::client;
use router::management_plane::config::InstanceName;
use serde_json::Value;

use crate::Failure;

/// How long the router may take to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Our router. It is asked to end, and killed if it does not.
struct Running(Group);

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended already needs no signal.
        let _ = signal(self.0.leader.id(), Signal::INT);
        self.0.wait(PATIENCE);
    }
}

/// Networks to the source, to the sink, and to the announcing BIRD; of each, `r` has .1 and the
/// other end .2.
const SOURCE: [u8; 3] = [198, 18, 0];
const SINK: [u8; 3] = [198, 18, 1];
const PEER: [u8; 3] = [198, 18, 2];
/// Most destinations that frames go to by turns.
const DESTINATIONS: usize = 1 << 17;
/// Bytes of a frame, without FCS.
const LENGTH: u16 = 60;

/// The namespaces, the programs in them, and what arrives.
pub(crate) struct Site {
    // Ended before the interfaces that they use.
    router: Option<Running>,
    _birds: [Group; 2],
    sink: Sink,
    bed: Bed,
    files: Directory,
}

fn address(network: [u8; 3], last: u8) -> Ipv4Addr {
    let [a, b, c] = network;
    Ipv4Addr::new(a, b, c, last)
}

impl Site {
    /// Lays the cables and starts both BIRDs.
    pub(crate) fn lay(routes: &Routes) -> Result<Self, Failure> {
        let within = |network, last| format!("{}/24", address(network, last));
        let ingress = side("r", "in").address(within(SOURCE, 1));
        let egress = side("r", "out").address(within(SINK, 1));
        let bed = Bed::plan()
            .forwarding("r")
            .set("r", "net.ipv4.conf.all.rp_filter", "0")
            .set("r", "net.ipv4.conf.default.rp_filter", "0")
            .cable(
                side("source", "e").address(within(SOURCE, 2)),
                ingress.switch(Offload::GenericReceive, true),
            )
            .cable(
                egress.neighbour(address(SINK, 2)),
                side("sink", "e").address(within(SINK, 2)),
            )
            .cable(
                side("r", "bgp").address(within(PEER, 1)),
                side("peer", "e").address(within(PEER, 2)),
            )
            .lay()?;
        let mut sink = Sink::new(Checks {
            signature: true,
            ..Checks::COUNT
        })?;
        let attach = || sink.attach("e", bpf::attach::Request::Any);
        bed.namespace("sink")?.enter(attach)??;
        let files = Directory::new("bgp-reset")?;
        let birds = [
            bird(bed.namespace("r")?, "here", &here(), files.path())?,
            bird(
                bed.namespace("peer")?,
                "there",
                &there(routes)?,
                files.path(),
            )?,
        ];
        Ok(Self {
            router: None,
            _birds: birds,
            sink,
            bed,
            files,
        })
    }

    /// Starts `corelane run` and waits for its ready line.
    pub(crate) fn start(&mut self, program: &Path, engine: &str) -> Result<(), Failure> {
        let mut command = self.bed.namespace("r")?.command(program);
        command
            .args(["run", "--metrics=", "--engine", engine])
            .args(["--port", "in", "--port", "out", "--run-directory"])
            .arg(self.files.path());
        let command = silent(end_with_thread(&mut command)).stdout(Stdio::piped());
        let mut router = Running(Group::start(command)?);
        let said = router
            .0
            .leader
            .stdout
            .take()
            .ok_or("corelane has no output")?;
        let mut lines = BufReader::new(said).lines();
        let ready = lines.next().transpose()?;
        if ready.is_none_or(|line| line.contains("=none")) {
            let program = program.display();
            return Err(format!("{program} run --engine {engine} did not start").into());
        }
        thread::spawn(move || lines.for_each(drop));
        self.router = Some(router);
        Ok(())
    }

    /// Frames of the shortest kind to these destinations.
    pub(crate) fn generator(&self, destinations: &[u32]) -> Result<Generator, Failure> {
        let (near, far) = (self.bed.end("source", "e")?, self.bed.end("r", "in")?);
        let destinations = destinations.iter().take(DESTINATIONS);
        let frames = Frames {
            source_mac: near.mac,
            destination_mac: far.mac,
            vlan: None,
            source: IpAddr::V4(address(SOURCE, 2)),
            destinations: Destinations::V4(
                destinations.map(|&to| Ipv4Addr::from_bits(to)).collect(),
            ),
            source_port: 1024,
            source_ports: 1,
            destination_port: 9,
            ttl: 64,
            lengths: vec![LENGTH],
            stream: 1,
            stamp_every: 0,
        };
        let new = || Generator::new(near.index, &frames);
        Ok(near.namespace.enter(new)??)
    }

    /// Frames that have come through.
    pub(crate) fn arrived(&self) -> Result<u64, Failure> {
        Ok(self.sink.counts()?.frames)
    }

    /// Prefixes in the kernel's main table.
    pub(crate) fn kernel_routes(&self) -> Result<usize, Failure> {
        let read = || fs::read_to_string("/proc/thread-self/net/fib_triestat");
        let text = self.bed.namespace("r")?.enter(read)??;
        let main = text.split("Main:").nth(1).unwrap_or_default();
        let line = main
            .lines()
            .find_map(|line| line.trim().strip_prefix("Prefixes:"));
        let count = line.and_then(|count| count.trim().parse().ok());
        Ok(count.ok_or("the kernel's fib_triestat has no line Prefixes")?)
    }

    /// IPv4 routes that our router has, if it runs.
    pub(crate) fn router_routes(&self) -> Result<Option<usize>, Failure> {
        if self.router.is_none() {
            return Ok(None);
        }
        let socket = InstanceName::default().socket(self.files.path());
        let answer: Value = serde_json::from_str(&client::ask(&socket, "routes 0")?)?;
        let count = answer["routes"]["v4"].as_u64();
        let count = count.ok_or_else(|| format!("corelane counts no routes: {answer}"))?;
        Ok(Some(count as usize))
    }

    /// Ends the session from the announcing side, which opens it again.
    pub(crate) fn restart_session(&self) -> Result<(), Failure> {
        let mut command = self.bed.namespace("peer")?.command("birdc");
        let control = self.files.path().join("there.ctl");
        let output = command
            .arg("-s")
            .arg(control)
            .args(["restart", "announcing"])
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        if output.status.success() && said.contains("restarted") {
            return Ok(());
        }
        Err(format!("birdc did not restart the session: {said}").into())
    }
}

/// Starts BIRD with this configuration.
fn bird(namespace: &Namespace, name: &str, text: &str, files: &Path) -> Result<Group, Failure> {
    let configuration = files.join(format!("{name}.conf"));
    fs::write(&configuration, text)?;
    let mut command = namespace.command("bird");
    let checked = command.args(["-p", "-c"]).arg(&configuration).output()?;
    if !checked.status.success() {
        let said = String::from_utf8_lossy(&checked.stderr);
        let remedy = "BIRD 2 is needed, Debian's package bird2";
        return Err(format!("bird refuses the configuration {name}: {said}; {remedy}").into());
    }
    let mut command = namespace.command("bird");
    command.args(["-f", "-c"]).arg(&configuration).arg("-s");
    command.arg(files.join(format!("{name}.ctl")));
    Ok(Group::start(silent(end_with_thread(&mut command)))?)
}

/// Reconnects at once: what is measured is the table, not BIRD's patience.
const TIMES: &str = "connect delay time 1; connect retry time 1; error wait time 1, 1;";

/// The router's BIRD: what the peer announces goes to the sink.
fn here() -> String {
    format!(
        "router id {here};\nprotocol device {{ }}\n\
         protocol kernel {{ ipv4 {{ import none; export all; }}; }}\n\
         protocol bgp peer {{ local {here} as 65001; neighbor {there} as 65002; {TIMES} \
         ipv4 {{ import filter {{ gw = {sink}; accept; }}; export none; }}; }}\n",
        here = address(PEER, 1),
        there = address(PEER, 2),
        sink = address(SINK, 2),
    )
}

/// The announcing BIRD, with the table as static routes.
fn there(routes: &Routes) -> Result<String, Failure> {
    let mut text = format!(
        "router id {there};\nprotocol device {{ }}\n\
         protocol bgp announcing {{ local {there} as 65002; neighbor {here} as 65001; {TIMES} \
         ipv4 {{ import none; export all; }}; }}\nprotocol static {{ ipv4;\n",
        here = address(PEER, 1),
        there = address(PEER, 2),
    );
    for prefix in &routes.prefixes.v4 {
        writeln!(text, "route {prefix} blackhole;")?;
    }
    text.push_str("}\n");
    Ok(text)
}
