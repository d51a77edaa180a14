//! Engine `kernel`: Linux's own forwarding, the baseline of every engine between interfaces.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use host::Namespace;
use tester::result::Entry;
use tester::veth::lanes::{Lanes, Load, NEXT_HOPS, Pace, next_hop_address};

use crate::case::{Case, FRAME_SIZES, Sample};
use crate::device::{Abilities, Device, Setting};
use crate::error::Error;
use crate::kind::Kind;
use crate::offer::Wanted;
use crate::routes::Routes;
use crate::tally::Tally;

/// Making generators and emptying queues.
const OVERHEAD: Duration = Duration::from_millis(60);

struct Kernel {
    lanes: Lanes,
    load: Load,
    cores: usize,
    tally: Tally,
}

/// Makes the namespaces and loads the routing table into the kernel's.
///
/// # Errors
/// When a namespace cannot be made or a route is refused.
pub fn open(setting: &Setting) -> Result<Box<dyn Device>, Error> {
    let lanes = Lanes::new("kernel", &setting.cores, &setting.routes.destinations)?;
    lanes.dut().set("net.ipv4.ip_forward", "1")?;
    load(lanes.dut(), &setting.routes, setting.seed)?;
    Ok(Box::new(Kernel {
        lanes,
        load: Load::default(),
        cores: setting.cores.len(),
        tally: Tally::default(),
    }))
}

impl Device for Kernel {
    fn abilities(&self) -> Abilities {
        Abilities {
            kinds: vec![Kind::Kernel],
            sizes: &FRAME_SIZES,
            most_workers: self.cores,
            takes_changes: false,
            searched: true,
            overhead: OVERHEAD,
        }
    }

    fn method(&self) -> String {
        format!(
            "Linux's own forwarding between two veth pairs, the same routes in its table. A \
             program inside the kernel makes the frames, on the core that forwards and counts \
             them, so the generator's share is in every figure. It makes the next ones when those \
             before are through. {}",
            self.tally.sentence()
        )
    }

    fn measure(&mut self, case: &Case, trial: Duration) -> Result<Sample, Error> {
        let wanted = (case.frame_bytes, case.workers);
        let carried = self.load.carry(&self.lanes, wanted, Pace::Call, trial)?;
        self.tally.add(&carried)?;
        Ok(Sample {
            frames_per_second: carried.frames_per_second,
            changes_per_second: 0.0,
        })
    }

    fn search(&mut self, case: &Case, wanted: &Wanted) -> Result<Entry, Error> {
        wanted.on_lanes(&self.lanes, &mut self.load, case, Pace::Call)
    }
}

/// Puts every IPv4 route into the kernel's table, next hops given out at random.
///
/// # Errors
/// When a route is refused.
pub fn load(dut: &Namespace, routes: &Routes, seed: u64) -> Result<(), Error> {
    let next_hops = fib::generated::next_hops(seed, routes.prefixes.v4.len(), NEXT_HOPS);
    let mut batch = String::with_capacity(routes.prefixes.v4.len() * 48);
    for (prefix, next_hop) in routes.prefixes.v4.iter().zip(next_hops) {
        let _ = writeln!(
            batch,
            "route append {prefix} via {} dev out",
            next_hop_address(next_hop.0)
        );
    }
    let mut ip = std::process::Command::new("ip")
        .args(["-n", dut.name(), "-batch", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    let written = ip
        .stdin
        .take()
        .map_or(Ok(()), |mut input| input.write_all(batch.as_bytes()));
    let output = ip.wait_with_output()?;
    host::cleanup::check()?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr)
            .lines()
            .take(2)
            .collect::<Vec<_>>()
            .join(" ");
        return Err(format!("the kernel did not take the routes: {words}").into());
    }
    Ok(written?)
}
