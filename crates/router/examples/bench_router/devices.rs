//! The devices under test: each is started, held while it is measured, and gone when dropped.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use fib::next_hop::Kind;
use fib::{NextHop, NextHopEntry};
use host::bed::End;
use router::engine::{self, Change, Engine, EngineKind, MAIN_TABLE, Port, Require};

use super::bed::{Bed, Routes};
use super::{NEXT_HOPS, Outcome};

/// What forwards between r0 and r1.
pub(crate) enum Device {
    /// The kernel, which does so by itself.
    Linux,
    /// One of ours.
    Engine(Box<dyn Engine>),
    /// DPDK's testpmd.
    Testpmd(Child),
}

impl Drop for Device {
    fn drop(&mut self) {
        if let Self::Testpmd(child) = self {
            // SAFETY: no pointers; the child has not been waited for, so the number is still its
            // own.
            unsafe { libc::kill(child.id().cast_signed(), libc::SIGINT) };
            let _ended = child.wait();
        }
    }
}

/// Is the peer installed?
pub(crate) fn has_testpmd() -> bool {
    ["/usr/bin/dpdk-testpmd", "/usr/local/bin/dpdk-testpmd"]
        .iter()
        .any(|path| std::path::Path::new(path).exists())
}

impl Device {
    /// Starts `name` between the ports of `bed`. Ours get the table, the kernel has it.
    pub(crate) fn start(name: &str, bed: &Bed, routes: &Routes) -> Outcome<(Self, Duration)> {
        let begin = Instant::now();
        let device = match name {
            "linux" => Self::Linux,
            "testpmd" => Self::Testpmd(testpmd(bed)?),
            _ => Self::Engine(
                bed.router
                    .enter(|| engine(name, bed, routes).map_err(|e| e.to_string()))??,
            ),
        };
        Ok((device, begin.elapsed()))
    }

    /// How it is attached, for people.
    pub(crate) fn modes(&self) -> String {
        match self {
            Self::Linux => "kernel".to_owned(),
            Self::Testpmd(_) => "net_af_xdp, macswap".to_owned(),
            Self::Engine(engine) => {
                let modes = engine.modes();
                let words: Vec<_> = modes
                    .iter()
                    .map(|mode| format!("{}={}", mode.port, mode.mode))
                    .collect();
                words.join(" ")
            }
        }
    }
}

fn engine(name: &str, bed: &Bed, routes: &Routes) -> Outcome<Box<dyn Engine>> {
    let ports = ["r0".to_owned(), "r1".to_owned()];
    let kind = EngineKind::from_str(name, false)?;
    let require = if kind.has_workers() {
        Require::Any
    } else {
        Require::Native
    };
    let mut engine = engine::open(kind, &ports, require, false)?;
    let mut changes: Vec<Change> = [&bed.left.b, &bed.right.a].map(port).into();
    if engine.keeps_table() {
        let out = &bed.right.a;
        changes.extend((1..=NEXT_HOPS).map(|id| Change::NextHop {
            id: NextHop(id),
            entry: NextHopEntry {
                kind: Kind::Adjacency,
                mtu: 1500,
                port: out.index,
                destination_mac: bed.neighbour(id),
                source_mac: out.mac,
                ..NextHopEntry::default()
            },
        }));
        let v4 = routes.table.v4.iter().zip(&routes.v4);
        changes.extend(v4.map(|(&prefix, &next_hop)| Change::RouteV4 {
            table: MAIN_TABLE,
            prefix,
            next_hop,
        }));
        let v6 = routes.table.v6.iter().zip(&routes.v6);
        changes.extend(v6.map(|(&prefix, &next_hop)| Change::RouteV6 {
            table: MAIN_TABLE,
            prefix,
            next_hop,
        }));
    }
    engine.apply(&changes)?;
    Ok(engine)
}

fn port(end: &End) -> Change {
    Change::Port(Port {
        ifindex: end.index,
        name: end.interface.clone(),
        enabled: true,
        mac: end.mac,
        mtu: 1500,
        table: MAIN_TABLE,
        vlans: Vec::new(),
    })
}

/// testpmd with one forwarding core, the last; its own control is on the first, which the generator
/// has.
fn testpmd(bed: &Bed) -> Outcome<Child> {
    let cores = host::cores::allowed_cores()?;
    let [first, .., last] = cores[..] else {
        return Err("testpmd wants two cores".into());
    };
    let words = format!(
        "-l {first},{last} --main-lcore {first} --no-huge -m 512 --no-pci --no-telemetry \
         --file-prefix corelane{} --vdev net_af_xdp0,iface=r0 --vdev net_af_xdp1,iface=r1 -- \
         --forward-mode=macswap --nb-cores=1 --no-mlockall --total-num-mbufs=32768",
        std::process::id()
    );
    let child = bed
        .router
        .command("dpdk-testpmd")
        .args(words.split_whitespace())
        // It runs until its input ends or it is interrupted.
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(child)
}
