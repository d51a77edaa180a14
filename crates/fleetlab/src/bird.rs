//! BIRD of the spreader and of the nodes: its configuration as one text, as in docs/fleet.md, with
//! the lab's addresses and a log.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use host::Namespace;
use host::process::{Group, silent};

use crate::program::{run, start_preferred};
use crate::{Failure, OTHERS, SERVICE};

/// How long an answer of BIRD's may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// Session times: reconnects within a second or two, so that the lab need not wait.
const TIMES: &str = "connect delay time 1; connect retry time 1; error wait time 0, 0;";
/// Numbers the stamps of its log, in seconds and microseconds.
const STAMPS: &str = "timeformat log \"%s %6f\";\n";

fn bfd(interface: &str, ms: u16) -> String {
    format!(
        "protocol bfd {{ interface \"{interface}\" {{ min rx interval {ms} ms; min tx interval \
         {ms} ms; multiplier 3; }}; }}\n"
    )
}

/// The spreader's, beside so many nodes, with a BFD packet in so many ms.
pub fn spreader(nodes: u8, log: &Path, bfd_ms: u16) -> String {
    let mut text = format!(
        "log \"{}\" all;\n{STAMPS}debug protocols {{ states }};\ndebug channels {{ routes }};\n\
         router id 198.18.0.1;\n\
         filter from_nodes {{ if (65535, 0) ~ bgp_community then bgp_local_pref = 0; accept; }}\n\
         protocol device {{ }}\n\
         protocol kernel {{ merge paths on; ipv4 {{ import none; export all; }}; }}\n{}\
         template bgp node {{ local as 65000; bfd on; {TIMES} \
         ipv4 {{ import filter from_nodes; export none; }}; }}\n",
        log.display(),
        bfd("s*", bfd_ms),
    );
    for node in 1..=nodes {
        let _ = writeln!(
            text,
            "protocol bgp node{node} from node {{ neighbor 198.18.{node}.2 as {}; }}",
            65000 + u32::from(node)
        );
    }
    text
}

/// A node's, with the file that `corelane drain` writes.
pub fn node(node: u8, drain: &Path, bfd_ms: u16) -> String {
    format!(
        "include \"{}\";\nrouter id 198.18.{node}.2;\n\
         filter announced {{ if !(net ~ [ {SERVICE}, {OTHERS}{{32,32}} ]) then reject; \
         if corelane_draining then bgp_community.add((65535, 0)); accept; }}\n\
         protocol device {{ }}\n\
         protocol static service {{ ipv4; route {SERVICE} via 198.19.{node}.2; }}\n{}\
         protocol kernel {{ learn; ipv4 {{ import where net ~ [ {OTHERS}{{32,32}} ]; export all; }}; }}\n\
         protocol bgp spreader {{ local as {}; neighbor 198.18.{node}.1 as 65000; bfd on; {TIMES} \
         ipv4 {{ import all; export filter announced; }}; }}\n",
        drain.display(),
        bfd("r0", bfd_ms),
        65000 + u32::from(node),
    )
}

/// The socket of the BIRD in this directory.
pub fn control(files: &Path) -> PathBuf {
    files.join("bird.ctl")
}

/// Has BIRD check the configuration, whole, and starts it.
///
/// # Errors
/// When BIRD is not there or refuses the text.
pub fn begin(namespace: &Namespace, files: &Path, text: &str) -> Result<Group, Failure> {
    let file = files.join("bird.conf");
    fs::write(&file, text)?;
    let mut check = namespace.command("bird");
    let (status, said) = run(check.args(["-p", "-c"]).arg(&file), PATIENCE)?;
    if !status.success() {
        let remedy = "BIRD 2 is needed, Debian's package bird2";
        return Err(format!("bird refuses its configuration: {said}; {remedy}").into());
    }
    let mut command = namespace.command("bird");
    command.args(["-f", "-c"]).arg(&file);
    start_preferred(silent(command.arg("-s").arg(control(files))))
}

/// Tells the BIRD in this directory something by `birdc`.
///
/// # Errors
/// When it does not answer, with what `birdc` says.
pub fn tell(files: &Path, words: &[&str]) -> Result<(), Failure> {
    let mut command = Command::new("birdc");
    let command = command.arg("-s").arg(control(files)).args(words);
    let (status, said) = run(command, PATIENCE)?;
    if status.success() {
        return Ok(());
    }
    Err(format!("birdc {}: {said}; look whether BIRD runs", words.join(" ")).into())
}
