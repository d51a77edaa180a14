//! Three namespaces in a row, the cables between them, and the table.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fastpath::generate::{Destinations, Frames};
use fib::NextHop;
use fib::prefix_file::Prefixes;
use host::{Namespace, Veth};

use super::{NEXT_HOPS, Outcome, SEED};

/// Prefixes and the next hop of each.
pub(crate) struct Routes {
    pub(crate) table: Prefixes,
    pub(crate) v4: Vec<NextHop>,
    pub(crate) v6: Vec<NextHop>,
    pub(crate) source: String,
}

impl Routes {
    /// From a file where there is one, else generated.
    pub(crate) fn read(file: Option<&Path>) -> Outcome<Self> {
        let (table, source) = prefixes(file)?;
        Ok(Self {
            v4: fib::generated::next_hops(SEED, table.v4.len(), NEXT_HOPS),
            v6: fib::generated::next_hops(SEED, table.v6.len(), NEXT_HOPS),
            table,
            source,
        })
    }
}

/// The Internet's table from a file where there is one, else a generated one of its size and shape.
fn prefixes(file: Option<&Path>) -> Outcome<(Prefixes, String)> {
    let beside =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/internet-prefixes.txt.gz");
    let path = file.map_or(beside, PathBuf::from);
    if !path.exists() {
        return Ok((fib::generated::internet(SEED), "generated".to_owned()));
    }
    let unpacked = Command::new("gzip").arg("-dcf").arg(&path).output()?;
    let name = path.to_string_lossy().into_owned();
    Ok((fib::prefix_file::read(&unpacked.stdout[..], &name)?, name))
}

/// Three namespaces in a row and the cables between them.
pub(crate) struct Bed {
    pub(crate) router: Namespace,
    pub(crate) sink: Namespace,
    pub(crate) left: Veth,
    pub(crate) right: Veth,
}

impl Bed {
    /// With so many queues in each cable.
    pub(crate) fn new(queues: u32) -> Outcome<Self> {
        let (generator, router, sink) = (
            Namespace::new(&format!("generator{queues}"))?,
            Namespace::new(&format!("router{queues}"))?,
            Namespace::new(&format!("sink{queues}"))?,
        );
        let left = Veth::new((&generator, "p0"), (&router, "r0"), queues)?;
        let right = Veth::new((&router, "r1"), (&sink, "p1"), queues)?;
        for key in ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"] {
            router.set(key, "1")?;
        }
        router.ip("address add 10.0.0.1/24 dev r0")?;
        router.ip("address add 10.0.1.1/24 dev r1")?;
        router.ip("address add fd00:0::1/64 dev r0 nodad")?;
        router.ip("address add fd00:1::1/64 dev r1 nodad")?;
        // So that r0 takes redirected frames also while no XDP program is attached to it.
        let gro = router
            .command("ethtool")
            .args(["-K", "r0", "gro", "on"])
            .status()?;
        if !gro.success() {
            return Err("ethtool -K r0 gro on failed; install ethtool".into());
        }
        Ok(Self {
            router,
            sink,
            left,
            right,
        })
    }

    /// MAC address of a next hop behind r1. All are the sink's port: a device that looks at
    /// addresses takes them all.
    pub(crate) fn neighbour(&self, _id: u16) -> [u8; 6] {
        self.right.b.mac
    }

    /// Gives the kernel the neighbours and the table.
    pub(crate) fn load_kernel(&self, routes: &Routes) -> Outcome<Duration> {
        let mut batch = String::new();
        for id in 1..=NEXT_HOPS {
            let mac = self
                .neighbour(id)
                .map(|byte| format!("{byte:02x}"))
                .join(":");
            writeln!(
                batch,
                "neigh replace 10.0.1.{} lladdr {mac} nud permanent dev r1",
                1 + id
            )?;
            writeln!(
                batch,
                "neigh replace fd00:1::{:x} lladdr {mac} nud permanent dev r1",
                1 + id
            )?;
        }
        for (prefix, id) in routes.table.v4.iter().zip(&routes.v4) {
            writeln!(
                batch,
                "route append {}/{} via 10.0.1.{} dev r1",
                Ipv4Addr::from(prefix.address()),
                prefix.length(),
                1 + id.0
            )?;
        }
        for (prefix, id) in routes.table.v6.iter().zip(&routes.v6) {
            writeln!(
                batch,
                "route append {}/{} via fd00:1::{:x} dev r1",
                Ipv6Addr::from(prefix.address()),
                prefix.length(),
                1 + id.0
            )?;
        }
        let begin = Instant::now();
        let mut ip = Command::new("ip")
            .args(["-n", self.router.name(), "-force", "-batch", "-"])
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        ip.stdin
            .take()
            .ok_or("no pipe")?
            .write_all(batch.as_bytes())?;
        ip.wait()?;
        Ok(begin.elapsed())
    }

    /// Frames to these destinations, as short as they can be.
    pub(crate) fn frames(&self, destinations: Destinations, stream: u16) -> Frames {
        let source = match destinations {
            Destinations::V4(_) => IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)),
            Destinations::V6(_) => IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2)),
        };
        let mut frames = Frames {
            source_mac: self.left.a.mac,
            destination_mac: self.left.b.mac,
            vlan: None,
            source,
            destinations,
            source_port: 1024,
            source_ports: 1,
            destination_port: 9,
            ttl: 64,
            lengths: vec![60],
            stream,
            stamp_every: 0,
        };
        frames.lengths = vec![frames.shortest()];
        frames
    }
}
