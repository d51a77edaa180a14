//! Other programs that send into a veth: each on the generator's core, in namespaces of its own,
//! its far end on the last core.

use std::process::Stdio;
use std::time::{Duration, Instant};
use std::{fs, thread};

use host::bed::{Bed, side};
use host::{CoreId, Namespace};

use super::Error;

/// How long a peer is counted.
const TIME: Duration = Duration::from_secs(2);
/// UDP payload of a frame of 64 bytes.
const PAYLOAD: &str = "18";

/// What iperf3 says of its datagrams, per second.
pub(crate) struct Datagrams {
    pub(crate) sent: f64,
    pub(crate) received: f64,
}

/// iperf3, as fast as it goes (`-u -b 0`), by its own counts; `None` where there is none.
pub(crate) fn iperf3() -> Result<Option<Datagrams>, Error> {
    const SERVER: &str = "198.18.1.1";
    let bed = Bed::plan()
        .cable(
            side("sender", "ip0").address("198.18.1.2/24"),
            side("receiver", "ip1").address(format!("{SERVER}/24")),
        )
        .lay()?;
    let (sender, receiver) = (bed.namespace("sender")?, bed.namespace("receiver")?);
    let (first, last) = cores()?;
    let on = |namespace: &Namespace, core: CoreId| {
        let mut command = namespace.command("taskset");
        command.args(["-c", &core.to_string(), "iperf3"]);
        command.stderr(Stdio::null());
        command
    };
    let there = on(sender, first).arg("--version").output();
    if !there.is_ok_and(|output| output.status.success()) {
        return Ok(None);
    }
    let mut server = on(receiver, last)
        .args(["-s"])
        .stdout(Stdio::null())
        .spawn()?;
    let seconds = TIME.as_secs().to_string();
    // The server is there a moment after its start.
    let answer = (0..20).find_map(|_| {
        thread::sleep(Duration::from_millis(100));
        let output = on(sender, first)
            .args([
                "-c", SERVER, "-u", "-b", "0", "-l", PAYLOAD, "-J", "-t", &seconds,
            ])
            .output()
            .ok()?;
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
        let sum = &answer["end"]["sum"];
        let of = |name: &str| sum[name].as_f64();
        Some((of("packets")?, of("lost_packets")?, of("seconds")?))
    });
    server.kill()?;
    server.wait()?;
    let (packets, lost, seconds) = answer.ok_or("iperf3 measured nothing")?;
    Ok(Some(Datagrams {
        sent: packets / seconds,
        received: (packets - lost) / seconds,
    }))
}

/// The first and the last core that this process may use.
fn cores() -> Result<(CoreId, CoreId), Error> {
    let cores = host::allowed_cores()?;
    let first = cores.first().copied().unwrap_or(CoreId(0));
    Ok((first, cores.last().copied().unwrap_or(first)))
}

/// Frames per second that trafgen brings to the far end of a cable, by that interface's counter;
/// `None` where there is none.
pub(crate) fn trafgen() -> Result<Option<f64>, Error> {
    let bed = Bed::plan()
        .cable(side("sender", "tg0"), side("receiver", "tg1"))
        .lay()?;
    let (sender, receiver) = (bed.namespace("sender")?, bed.namespace("receiver")?);
    let [near, far] = [bed.end("sender", "tg0")?, bed.end("receiver", "tg1")?];
    let mac = |bytes: [u8; 6]| bytes.map(|byte| format!("0x{byte:02x}")).join(", ");
    let directory = host::temporary::Directory::new("trafgen")?;
    let file = directory.path().join("frame.cfg");
    fs::write(
        &file,
        format!(
            "{{ {}, {}, const16(0x0800), 0x45, 0, const16(46), const16(0), const16(0), 10, 17, \
             csumip(14, 33), 198, 18, 1, 2, 198, 19, 64, 2, const16(49184), const16(7), \
             const16(26), const16(0), fill(0x55, 18) }}\n",
            mac(far.mac),
            mac(near.mac)
        ),
    )?;
    let (core, _) = cores()?;
    let mut command = sender.command("taskset");
    command
        .args([
            "-c",
            &core.to_string(),
            "trafgen",
            "--dev",
            "tg0",
            "--cpus",
            "1",
            "--qdisc-path",
            "--conf",
        ])
        .arg(&file);
    let Ok(mut child) = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() else {
        return Ok(None);
    };
    thread::sleep(Duration::from_millis(700));
    let count = || -> Result<f64, Error> {
        let text = receiver.ip("-s -o link show tg1")?;
        let words: Vec<&str> = text.split_whitespace().collect();
        let at = words
            .iter()
            .position(|word| *word == "RX:")
            .ok_or("no counters")?;
        // "RX: bytes packets errors dropped missed mcast \ N N": the numbers follow the headings.
        let numbers: Vec<f64> = words[at..]
            .iter()
            .filter_map(|word| word.parse().ok())
            .collect();
        Ok(*numbers.get(1).ok_or("no packet counter")?)
    };
    let (before, begun) = (count()?, Instant::now());
    thread::sleep(TIME);
    let rate = (count()? - before) / begun.elapsed().as_secs_f64();
    child.kill()?;
    child.wait()?;
    Ok((rate > 0.0).then_some(rate))
}
