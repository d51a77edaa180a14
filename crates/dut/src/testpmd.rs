//! DPDK's `testpmd` on its `AF_XDP` devices, the peer of the engine `af-xdp`: forwarding mode
//! `macswap`, which looks nothing up. It is in no study, only beside a bound.
//!
//! It polls its devices whether frames come or not. So it runs only while it is measured, and is
//! stopped otherwise: else it would take half of its core from whoever is measured there.

use std::io;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use host::CoreId;
use host::process::{self, Signal};
use port::Burst;
use tester::veth::lanes::{Lanes, Load, Pace};

use crate::case::{Case, Sample};
use crate::device::{Abilities, Device, Setting};
use crate::error::Error;

struct Testpmd {
    // Ended before the interfaces that it uses.
    running: Running,
    lanes: Lanes,
    load: Load,
}

/// The process; it ends when its input does, unless it is stopped.
struct Running(Child);

impl Running {
    /// Takes no time of any core from now on.
    fn stop(&self) -> io::Result<()> {
        process::signal(self.0.id(), Signal::STOP)
    }

    fn is_there(&mut self) -> Result<(), Error> {
        match self.0.try_wait()? {
            Some(status) => Err(format!("dpdk-testpmd has ended: {status}").into()),
            None => Ok(()),
        }
    }

    fn resume(&self) -> io::Result<()> {
        process::signal(self.0.id(), Signal::CONT)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended needs no resuming.
        let _ = self.resume();
        // Waiting closes the input first. Without a status there is nothing left to wait for.
        let _ = self.0.wait();
    }
}

/// Whether it is installed.
pub fn is_here() -> bool {
    let places = ["/usr/bin/dpdk-testpmd", "/usr/local/bin/dpdk-testpmd"];
    places.iter().any(|place| Path::new(place).exists())
}

/// Starts it on `core`, between cables of the setting's first cores.
///
/// # Errors
/// When the namespaces cannot be made or the program not be started.
pub fn open(setting: &Setting, core: CoreId) -> Result<Box<dyn Device>, Error> {
    let lanes = setting.lanes("testpmd")?;
    let [near, far] = [lanes.ingress(), lanes.egress()].map(|end| end.interface.as_str());
    // Its own control is on the generator's core.
    let control = setting.cores.first().copied().unwrap_or(core);
    let words = format!(
        "-l {control},{core} --main-lcore {control} --no-huge -m 512 --no-pci --no-telemetry \
         --file-prefix corelane{}{:?} --vdev net_af_xdp0,iface={near} --vdev net_af_xdp1,iface={far} \
         -- --forward-mode=macswap --nb-cores=1 --burst={} --no-mlockall \
         --total-num-mbufs=32768",
        std::process::id(),
        setting.family,
        Burst::CAPACITY
    );
    let mut command = lanes.dut().command("dpdk-testpmd");
    command.args(words.split_whitespace());
    // A stopped process does not see that its input has ended.
    let command = process::end_with_thread(process::silent(&mut command));
    let child = command.stdin(Stdio::piped()).spawn()?;
    Ok(Box::new(Testpmd {
        running: Running(child),
        lanes,
        load: Load::default(),
    }))
}

impl Device for Testpmd {
    fn abilities(&self) -> Abilities {
        Abilities {
            searched: false,
            ..Abilities::between_interfaces(Vec::new(), 1)
        }
    }

    fn method(&self) -> String {
        "net_af_xdp, macswap".to_owned()
    }

    fn measure(&mut self, case: &Case, trial: Duration) -> Result<Sample, Error> {
        let wanted = (case.frame_bytes, case.cores());
        self.running.is_there()?;
        self.running.resume()?;
        let carried = self.load.carry(&self.lanes, wanted, Pace::Call, trial)?;
        // Without frames it is still starting.
        if carried.frames_per_second > 0.0 {
            self.running.stop()?;
        }
        Ok(Sample {
            frames_per_second: carried.frames_per_second,
            changes_per_second: 0.0,
            counted: carried.counted,
        })
    }
}

#[cfg(test)]
#[path = "../tests/unit/testpmd.rs"]
mod tests;
