//! Our router as users run it: the program `corelane run`, in namespaces made for the test.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use host::offload::Offload;
use host::process::Group;
use host::temporary::Directory;
use router::management_plane::config::InstanceName;
use tester::rig::{Rig, RigError};
use tester::veth::Testbed;

use super::namespaces::{Ground, cores};
use super::rigs::{Generator, Maker};
use super::{Stand, reasons};
use crate::error::Error;

/// How long the router may take until it forwards.
const READY: Duration = Duration::from_secs(10);

struct Program {
    /// A running `corelane run`; ended before the interfaces that it uses.
    running: Mutex<Option<Group>>,
    testbed: Testbed,
    /// Of its control socket, which a killed router leaves behind.
    directory: Directory,
    maker: Maker,
    engine: String,
}

/// Makes the namespaces and starts this program there as a router with the engine of that name.
///
/// # Errors
/// Without root, or when the kernel or the router refuses.
pub fn open(maker: Maker, ground: Ground, engine: &str) -> Result<Box<dyn Stand>, Error> {
    let program = Program {
        running: Mutex::new(None),
        testbed: ground.lay(&maker)?,
        directory: Directory::new("router")?,
        maker,
        engine: engine.to_owned(),
    };
    // The generator's programs come to the ends with its first trial, but the router looks before.
    if program.maker.generator == Generator::Xdp {
        let Testbed { tester, ends, .. } = &program.testbed;
        for end in ends {
            tester.switch(&end.interface, Offload::GenericReceive, true)?;
        }
    }
    program.start()?;
    Ok(Box::new(program))
}

impl Program {
    /// Starts the router in the device's namespace and waits until it forwards.
    fn start(&self) -> Result<(), Error> {
        let (testbed, engine) = (&self.testbed, &self.engine);
        let program = std::env::current_exe()?;
        let mut command = testbed.device.command(program);
        command.args([
            "run",
            "--engine",
            engine,
            "--metrics",
            "",
            "--run-directory",
        ]);
        command.arg(self.directory.path());
        for port in &testbed.ports {
            command.args(["--port", port]);
        }
        let mut router = Group::start(command.stdout(Stdio::piped()))?;
        let output = router.leader.stdout.take();
        let output = output.ok_or("the router has no output")?;
        let (sender, receiver) = std::sync::mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                // Not one that leaves a port to the kernel.
                let is_ready = line.contains("ready") && !line.contains("=none");
                if is_ready && sender.send(()).is_err() {
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
        self.replace(Some(router));
        Ok(())
    }

    /// Ends the router that runs, if one does, and keeps another.
    fn replace(&self, router: Option<Group>) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = router;
    }
}

impl Stand for Program {
    fn rig(&self) -> Result<Box<dyn Rig>, RigError> {
        let what = format!("corelane run --engine {}", self.engine);
        let socket = InstanceName::default().socket(self.directory.path());
        self.maker
            .device(&self.testbed, &what, reasons::router(socket))
    }

    fn wire(&self) -> Result<Box<dyn Rig>, RigError> {
        self.maker.wire(&self.testbed)
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![cores(&self.testbed)]
    }

    fn reset_words(&self) -> &'static str {
        "router killed (SIGKILL) and started again"
    }

    fn reset(&self) -> Result<(), Error> {
        self.replace(None);
        self.start()
    }
}
