//! The commands of `docs/fleet.md` as they stand there, on machines of the test's own: each has a
//! network namespace, an `/etc` and a `/run`, the page's configuration, its daemon and a router.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use host::Namespace;
use host::bed::{Bed, side};
use host::process::{Group, Signal, end_with_thread, signal, silent};

use crate::fleet::blocks;
use crate::pages::page;

/// How long anything may take on a busy machine; FRR and BIRD wait ten seconds by themselves.
const PATIENCE: Duration = Duration::from_mins(2);
/// What holds the files of a machine, until it is killed.
const HOLDER: &str = "mount --make-rprivate /
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work
mount -t overlay -o lowerdir=/etc,upperdir=/mnt/upper,workdir=/mnt/work overlay /etc
mount -t tmpfs tmpfs /run
mkdir -p /run/programs /run/bird /run/frr /run/corelane /etc/bird /etc/frr
ln -s \"$0\" /run/programs/corelane
touch /run/there
exec sleep infinity";
/// The daemons of FRR, the first of which serves the others.
const FRR: [&str; 4] = ["zebra", "staticd", "bfdd", "bgpd"];
/// What the spreader's kernel is asked.
const SERVICE: &str = "203.0.113.0/24";

fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "waited for {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn text(output: &Output) -> String {
    let said = [&output.stdout, &output.stderr];
    said.map(|said| String::from_utf8_lossy(said)).concat()
}

/// A machine; what runs on it ends with it.
struct Machine {
    router: Option<Group>,
    daemons: Vec<Group>,
    holder: Group,
    namespace: Namespace,
}

impl Machine {
    fn start(namespace: &Namespace) -> Self {
        let mut holder = namespace.command("unshare");
        let words = ["--mount", "bash", "-ec", HOLDER];
        holder.args(words).arg(env!("CARGO_BIN_EXE_corelane"));
        let holder = Group::start(end_with_thread(silent(&mut holder))).unwrap();
        let machine = Self {
            router: None,
            daemons: Vec::new(),
            holder,
            namespace: namespace.clone(),
        };
        wait_for("a machine", || machine.path("/run/there").exists());
        machine
    }

    /// A file as the machine sees it.
    fn path(&self, path: &str) -> PathBuf {
        format!("/proc/{}/root{path}", self.holder.leader.id()).into()
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.path(path), text).unwrap();
    }

    /// A line of shell on it.
    fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--mount", "--net", "--target"]);
        command.arg(self.holder.leader.id().to_string());
        command.args(["env", "PATH=/run/programs:/usr/sbin:/usr/bin:/sbin:/bin"]);
        command.args(["bash", "-ec", line]);
        command
    }

    /// What a line of shell prints, which must succeed.
    fn run(&self, line: &str) -> String {
        let output = self.shell(line).output().unwrap();
        assert!(output.status.success(), "{line}: {}", text(&output));
        text(&output)
    }

    fn begin(&self, line: &str) -> Group {
        let mut command = self.shell(&format!("exec {line}"));
        let command = command.stdin(Stdio::null()).stdout(Stdio::null());
        Group::start(end_with_thread(command)).unwrap()
    }

    /// Starts the daemon of this name by the page's text.
    fn speak(&mut self, daemon: &str, text: &str) {
        if daemon == "bird" {
            self.write("/etc/bird/bird.conf", text);
            let bird = self.begin("bird -f -c /etc/bird/bird.conf");
            self.daemons.push(bird);
            return;
        }
        self.write("/etc/frr/frr.conf", text);
        for name in FRR {
            let words = "-u root -g frrvty 2>/dev/null";
            let daemon = self.begin(&format!("/usr/lib/frr/{name} {words}"));
            self.daemons.push(daemon);
            let socket = self.path(&format!("/run/frr/{name}.vty"));
            let zebra = self.path("/run/frr/zserv.api");
            wait_for(name, || socket.exists() && zebra.exists());
        }
        // As FRR's service does; no daemon reads the file that is for all of them.
        self.run("vtysh -b");
    }

    /// What `systemctl restart corelane` does.
    fn restart(&mut self) {
        if let Some(mut router) = self.router.take() {
            signal(router.leader.id(), Signal::TERM).unwrap();
            wait_for("the router's end", || router.ended().is_some());
        }
        self.router = Some(self.begin("corelane run /etc/corelane.toml"));
    }
}

/// The first block of commands in a section of the page.
fn commands(section: &str) -> Vec<String> {
    let text = page("fleet.md");
    let (_, section) = text.split_once(&format!("\n## {section}\n")).unwrap();
    // Every second fence begins a block; one of commands names no language.
    let mut begins = section.split("\n```").skip(1).step_by(2);
    let block = begins.find_map(|block| block.strip_prefix('\n'));
    block.unwrap().lines().map(str::to_owned).collect()
}

/// A spreader and two nodes with what the page says, and a host on both sides.
struct Fleet {
    spreader: Machine,
    nodes: [Machine; 2],
    bed: Bed,
}

impl Fleet {
    fn start(daemon: &str) -> Self {
        let bed = lay();
        let machine = |name: &str| Machine::start(bed.namespace(name).unwrap());
        let [node, of_spreader] = <[String; 2]>::try_from(blocks(daemon)).unwrap();
        let mut fleet = Self {
            spreader: machine("spreader"),
            nodes: [machine("node1"), machine("node2")],
            bed,
        };
        fleet.spreader.speak(daemon, &of_spreader);
        for (number, machine) in (1..).zip(&mut fleet.nodes) {
            let own = |text: &str| {
                let text = text.replace("192.0.2.11", &format!("192.0.2.1{number}"));
                let text = text.replace("65001", &format!("6500{number}"));
                text.replace("hostname node1", &format!("hostname node{number}"))
            };
            if daemon == "bird" {
                machine.run(&commands("A node")[0]);
            } else {
                let line = format!("route add {SERVICE} via 198.51.100.2");
                machine.namespace.ip(line).unwrap();
            }
            let metrics = blocks("toml").swap_remove(0);
            let ports = "ports = [\"eth1\", \"eth2\"]\n";
            let file = format!("{ports}{}drain-routing = \"{daemon}\"\n", own(&metrics));
            machine.write("/etc/corelane.toml", &file);
            machine.restart();
            machine.speak(daemon, &own(&node));
        }
        fleet
    }

    /// The nodes to which the spreader's kernel sends.
    fn taken(&self) -> Vec<u8> {
        let show = format!("route show {SERVICE}");
        let route = self.spreader.namespace.ip(show).unwrap();
        let is_there = |node: &u8| route.contains(&format!("via 192.0.2.1{node} "));
        [1, 2].into_iter().filter(is_there).collect()
    }

    fn wait_for_nodes(&self, nodes: &[u8]) {
        wait_for(&format!("{nodes:?}"), || self.taken() == nodes);
    }
}

fn lay() -> Bed {
    let plan = Bed::plan().forwarding("spreader").cable(
        side("source", "e").address("198.18.0.2/24"),
        side("spreader", "in").address("198.18.0.1/24"),
    );
    let plan = plan.ip("source", "route replace default via 198.18.0.1");
    let plan = plan.cable(
        side("spreader", "eth1").address("192.0.2.1/24"),
        side("lan", "s"),
    );
    let plan = [1, 2].into_iter().fold(plan, |plan, number| {
        let (node, sink) = (format!("node{number}"), format!("sink{number}"));
        plan.forwarding(&node)
            .cable(
                side(&node, "eth1").address(format!("192.0.2.1{number}/24")),
                side("lan", &format!("n{number}")),
            )
            .cable(
                side(&node, "eth2").address("198.51.100.1/24"),
                side(&sink, "e").address("198.51.100.2/24"),
            )
            .ip(&node, "route replace 198.18.0.0/24 via 192.0.2.1")
            .ip(&sink, "addr replace 203.0.113.1/32 dev lo")
            .ip(&sink, "route replace default via 198.51.100.1")
    });
    let plan = plan
        .ip("lan", "link add lan type bridge")
        .ip("lan", "link set lan up");
    let ends = ["s", "n1", "n2"];
    let plan = ends.into_iter().fold(plan, |plan, end| {
        plan.ip("lan", format!("link set {end} master lan"))
    });
    plan.lay().unwrap()
}

fn walk(daemon: &str) {
    let mut fleet = Fleet::start(daemon);
    fleet.wait_for_nodes(&[1, 2]);
    let compare = &commands("Compare the nodes")[0];
    wait_for("nodes that are alike", || {
        let output = fleet.spreader.shell(compare).output().unwrap();
        output.status.success()
    });
    // From here on no packet is lost.
    let line =
        "while ping -q -n -i 0.02 -W 1 -c 20 203.0.113.1 | grep -q ' 0% packet loss'; do :; done";
    let mut traffic = fleet.bed.namespace("source").unwrap().command("bash");
    let mut traffic = Group::start(end_with_thread(traffic.args(["-c", line]))).unwrap();

    let upgrade = commands("Upgrade a node");
    assert_eq!(upgrade.len(), 4);
    for line in upgrade {
        if line == "systemctl restart corelane" {
            fleet.nodes[0].restart();
        } else {
            fleet.nodes[0].run(&line);
        }
        if line.split(' ').nth(1) == Some("undrain") {
            fleet.wait_for_nodes(&[1, 2]);
            continue;
        }
        // It has gone when the command has ended, and no restart brings it back.
        let taken = fleet.taken();
        assert!(!taken.contains(&1), "{line}: {taken:?}");
        fleet.wait_for_nodes(&[2]);
    }

    let announce = fleet.nodes[0].begin(&commands("Follow the health")[0]);
    fleet.nodes[0].router = None;
    fleet.wait_for_nodes(&[2]);
    fleet.nodes[0].restart();
    fleet.wait_for_nodes(&[1, 2]);
    drop(announce);
    assert!(traffic.ended().is_none(), "a packet was lost");

    // An exit code that keepalived tells by.
    let health = blocks("keepalived")[0]
        .split('"')
        .nth(1)
        .unwrap()
        .to_owned();
    let health = health.replace("/usr/local/bin/", "");
    fleet.nodes[1].run(&health);
    fleet.nodes[1].router = None;
    assert!(
        !fleet.nodes[1]
            .shell(&health)
            .output()
            .unwrap()
            .status
            .success()
    );
    let output = fleet.spreader.shell(compare).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    assert!(text(&output).contains("192.0.2.12"), "{}", text(&output));
}

#[test]
fn an_operator_with_bird_gets_from_one_box_to_several() {
    if needs::root("for network namespaces and XDP") && needs::program("birdc") {
        walk("bird");
    }
}

#[test]
fn an_operator_with_frr_gets_from_one_box_to_several() {
    let bgpd = std::path::Path::new("/usr/lib/frr/bgpd");
    if needs::root("for network namespaces and XDP")
        && needs::program("vtysh")
        && needs::that(bgpd.exists(), bgpd.display())
    {
        walk("frr");
    }
}
