//! What is tested: set up, reset, taken down.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use host::CoreId;
use host::process::Group;
use tester::addresses;
use tester::link::calibrated::Settings;
use tester::rig::{Rig, RigError};
use tester::veth::{Bench, End};

use super::hooks::shell;
use super::options::{Dut, Options};
use super::plan::Plan;
use super::rigs::Maker;
use super::{external, far, filters};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// How long the router may take until it forwards.
const READY: Duration = Duration::from_secs(10);

/// Where the device is.
enum Place {
    /// In namespaces of our own.
    Bench(Bench),
    /// Between given interfaces; of the bench only the self-test's cables are used.
    External { bench: Bench, ends: Vec<End> },
    /// In this process.
    Memory(Settings),
}

/// The device, the tester's ends and the cables for the self-test.
pub(super) struct Device {
    place: Place,
    /// A running `corelane run`.
    router: Mutex<Option<Group>>,
    dut: Dut,
    what: String,
    /// Commands of nft, when the device filters.
    filters: Option<Vec<String>>,
}

impl Device {
    /// Sets the device up.
    ///
    /// # Errors
    /// Without root, or when the kernel, the interfaces or the router refuse.
    pub(super) fn new(options: &Options, plan: &Plan) -> Result<Self, Error> {
        let bench = |forwarding| Bench::with_ports(plan.ports, plan.mtu, forwarding);
        let place = match options.dut {
            Dut::Kernel | Dut::Corelane => Place::Bench(bench(true)?),
            Dut::External => {
                let ends = external::ends(options)?;
                Place::External {
                    bench: bench(false)?,
                    ends,
                }
            }
            Dut::Calibrated => Place::Memory(plan.calibrated.clone()),
        };
        let what = match options.dut {
            Dut::Kernel => "the kernel's forwarding".to_owned(),
            Dut::Corelane => format!("corelane run --engine {}", options.engine),
            Dut::External => "an external device".to_owned(),
            Dut::Calibrated => "a calibrated device".to_owned(),
        };
        let mut device = Self {
            place,
            router: Mutex::new(None),
            dut: options.dut,
            what,
            filters: options
                .filters
                .map(|rules| filters::commands(rules, &plan.families(), plan.ports)),
        };
        if let Place::Bench(bench) = &mut device.place {
            if options.destinations > addresses::NETWORKS && !options.ipv6 {
                bench.widen()?;
            }
            if plan.traffic.replay.is_some() {
                bench.route_everything()?;
            }
            if let Some(commands) = &device.filters {
                filters::set(&bench.device, commands)?;
            }
        }
        if options.dut == Dut::Corelane {
            device.start(&options.engine)?;
        }
        Ok(device)
    }

    /// Starts the router in the device's namespace and waits until it forwards.
    fn start(&self, engine: &str) -> Result<(), Error> {
        let Place::Bench(bench) = &self.place else {
            return Ok(());
        };
        let program = std::env::current_exe()?;
        let mut command = bench.device.command(program);
        command.args(["run", "--engine", engine, "--metrics", "", "--instance"]);
        command.arg(format!("test-{}", std::process::id()));
        for port in &bench.ports {
            command.args(["--port", port]);
        }
        let mut router = Group::start(command.stdout(Stdio::piped()))?;
        let output = router.leader.stdout.take();
        let output = output.ok_or("the router has no output")?;
        let (sender, receiver) = std::sync::mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if line.contains("ready") && sender.send(()).is_err() {
                    return;
                }
            }
        });
        receiver.recv_timeout(READY).map_err(|_| {
            format!(
                "corelane run --engine {engine} was not ready within {} s",
                READY.as_secs()
            )
        })?;
        self.replace_router(Some(router));
        Ok(())
    }

    /// Ends the router that runs, if one does, and keeps another.
    fn replace_router(&self, router: Option<Group>) {
        *self.router.lock().unwrap_or_else(PoisonError::into_inner) = router;
    }

    /// The rig with the device in it.
    ///
    /// # Errors
    /// The kernel refuses the ports, or the generator cannot work on them.
    pub(super) fn rig(
        &self,
        maker: &Maker,
        plan: &Plan,
        options: &Options,
    ) -> Result<Box<dyn Rig>, RigError> {
        match &self.place {
            Place::Memory(settings) => maker.calibrated(settings),
            Place::Bench(bench) => maker.rig(&bench.ends, &bench.device_threads, &self.what),
            Place::External { ends, .. } => match (&options.far, &ends[..]) {
                (Some(host), [here, ..]) => far::rig(maker, plan, options, host, here),
                _ => maker.rig(ends, &[], &self.what),
            },
        }
    }

    /// The rig with cables in its place.
    ///
    /// # Errors
    /// As [`Device::rig`].
    pub(super) fn wire(&self, maker: &Maker) -> Result<Box<dyn Rig>, RigError> {
        match &self.place {
            Place::Memory(_) => maker.wire_in_memory(),
            Place::Bench(bench) | Place::External { bench, .. } => {
                maker.rig(&bench.cable_ends, &bench.cable_threads, "a cable (veth)")
            }
        }
    }

    /// The core that frames are made on.
    pub(super) fn generator_core(&self) -> CoreId {
        match &self.place {
            Place::Memory(_) => host::allowed_cores()
                .ok()
                .and_then(|cores| cores.first().copied())
                .unwrap_or(CoreId(0)),
            Place::Bench(bench) | Place::External { bench, .. } => bench.generator,
        }
    }

    /// Facts for the report.
    pub(super) fn facts(&self) -> Vec<(String, String)> {
        let mut facts = Vec::new();
        if let Place::Bench(bench) | Place::External { bench, .. } = &self.place {
            facts.push(("Cores".to_owned(), bench.cores()));
        }
        if matches!(self.place, Place::External { .. }) {
            facts.push((
                "Self-test".to_owned(),
                "over a veth cable on the same cores, not over the ports of the test".to_owned(),
            ));
        }
        if let Some(commands) = &self.filters {
            facts.push(("Filters".to_owned(), commands.join("; ")));
        }
        facts
    }

    /// What a reset does, in words.
    pub(super) fn reset_words(&self, options: &Options) -> String {
        match (&options.reset, self.dut) {
            (Some(command), _) => command.clone(),
            (None, Dut::Corelane) => "router killed (SIGKILL) and started again".to_owned(),
            (None, _) => {
                "ports set down and up, addresses, neighbours and routes restored".to_owned()
            }
        }
    }

    /// Resets the device. A failure shows as a device that does not come back; the reason goes to
    /// standard error.
    pub(super) fn reset(&self, options: &Options) {
        let done = match (&options.reset, self.dut) {
            (Some(command), _) => shell(command),
            (None, Dut::Corelane) => {
                self.replace_router(None);
                self.start(&options.engine)
            }
            (None, _) => match &self.place {
                Place::Bench(bench) => bench.flap().map_err(Into::into),
                Place::External { .. } | Place::Memory(_) => Ok(()),
            },
        };
        if let Err(error) = done {
            eprintln!("corelane: reset: {error}");
        }
    }
}
