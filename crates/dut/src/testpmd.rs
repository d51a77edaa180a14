//! DPDK's `testpmd` on its `AF_XDP` devices, the peer of the engine `af-xdp`: forwarding mode
//! `macswap`, which looks nothing up. It is in no study, only beside a bound.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use host::CoreId;
use rustix::process::{Pid, Signal, kill_process};
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

/// The process; it ends when its input does. It polls all the time, so it is stopped while another
/// device is measured.
struct Running(Child);

impl Running {
    /// Whether it has ended by itself is said by the next [`Running::go_on`].
    fn stop(&self) {
        let _ended = kill_process(self.number(), Signal::STOP);
    }

    fn go_on(&mut self) -> Result<(), Error> {
        if let Some(status) = self.0.try_wait()? {
            return Err(format!("dpdk-testpmd has ended: {status}").into());
        }
        kill_process(self.number(), Signal::CONT).map_err(std::io::Error::from)?;
        Ok(())
    }

    fn number(&self) -> Pid {
        Pid::from_child(&self.0)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.go_on();
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
         -- --forward-mode=macswap --nb-cores=1 --no-mlockall --total-num-mbufs=32768",
        std::process::id(),
        setting.family,
    );
    let child = lanes
        .dut()
        .command("dpdk-testpmd")
        .args(words.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
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
        self.running.go_on()?;
        let carried = self.load.carry(&self.lanes, wanted, Pace::Call, trial);
        self.running.stop();
        let carried = carried?;
        Ok(Sample {
            frames_per_second: carried.frames_per_second,
            changes_per_second: 0.0,
        })
    }
}
