//! What is tested: set up, reset, taken down.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{fs, thread};

use host::CoreId;
use tester::addresses;
use tester::engine::Macs;
use tester::rig::RigError;
use tester::veth::{Bench, End, XdpRig};

use super::{Dut, Options};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// How long the router may take until it forwards.
const READY: Duration = Duration::from_secs(10);

/// The device, the tester's ends and the cable for the self-test.
pub(super) struct Device {
    /// Namespaces; of an external device only the self-test's cable is used.
    bench: Bench,
    router: Mutex<Option<Router>>,
    external: Option<[End; 2]>,
    dut: Dut,
}

/// A running `corelane run`, killed when dropped.
struct Router {
    child: Child,
}

impl Drop for Router {
    fn drop(&mut self) {
        // It may be dead already; then there is nothing to kill and its status is taken all the same.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Device {
    pub(super) fn new(options: &Options, mtu: u16) -> Result<Self, Error> {
        let external = match options.dut {
            Dut::External => Some(external(options)?),
            _ => None,
        };
        let bench = Bench::new(mtu, options.dut != Dut::External)?;
        let device = Self {
            bench,
            router: Mutex::new(None),
            external,
            dut: options.dut,
        };
        if options.dut == Dut::Corelane {
            device.start(&options.engine)?;
        }
        Ok(device)
    }

    /// Starts the router in the device's namespace and waits until it forwards.
    fn start(&self, engine: &str) -> Result<(), Error> {
        let program = std::env::current_exe()?;
        let mut command = self.bench.device.namespace.command(program);
        command.args(["run", "--engine", engine, "--metrics", "", "--instance"]);
        command.arg(format!("test-{}", std::process::id()));
        for port in &self.bench.device.ports {
            command.args(["--port", &port.interface]);
        }
        // In a process group of its own: Ctrl-C ends the test first, which then ends it.
        let mut child = command.stdout(Stdio::piped()).process_group(0).spawn()?;
        let output = child.stdout.take().ok_or("the router has no output")?;
        let router = Router { child };
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
        *self
            .router
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = Some(router);
        Ok(())
    }

    /// The rig with the device in it.
    pub(super) fn rig(&self, options: &Options) -> Result<XdpRig, RigError> {
        let what = match self.dut {
            Dut::Kernel => "the kernel's forwarding".to_owned(),
            Dut::Corelane => format!("corelane run --engine {}", options.engine),
            Dut::External => "an external device".to_owned(),
        };
        match &self.external {
            Some(ends) => {
                let core = host::allowed_cores()
                    .ok()
                    .and_then(|cores| cores.first().copied())
                    .unwrap_or(CoreId(0));
                Ok(XdpRig::new(ends, core, &what, options.output.seed)?
                    .with_line_rate(options.line_rate))
            }
            None => self.bench.rig(&what, options.output.seed),
        }
    }

    /// The rig with a cable in its place.
    pub(super) fn wire(&self, seed: u64) -> Result<XdpRig, RigError> {
        self.bench.wire(seed)
    }

    /// Facts for the report.
    pub(super) fn facts(&self) -> Vec<(String, String)> {
        let mut facts = vec![("Cores".to_owned(), self.bench.cores())];
        if self.external.is_some() {
            facts.push((
                "Self-test".to_owned(),
                "over a veth cable on the same cores, not over the ports of the test".to_owned(),
            ));
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

    /// Resets the device. A failure shows as a device that does not come back; the reason goes to standard error.
    pub(super) fn reset(&self, options: &Options) {
        let done = match (&options.reset, self.dut) {
            (Some(command), _) => shell(command),
            (None, Dut::Corelane) => {
                drop(
                    self.router
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .take(),
                );
                self.start(&options.engine)
            }
            (None, _) => self.bench.flap(true).map_err(Into::into),
        };
        if let Err(error) = done {
            eprintln!("corelane: reset: {error}");
        }
    }
}

/// Runs a hook.
pub(super) fn shell(command: &str) -> Result<(), Error> {
    let status = Command::new("sh")
        .args(["-c", command])
        .process_group(0)
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("the command \"{command}\" ended with {status}").into())
    }
}

/// The tester's ends of an external device.
fn external(options: &Options) -> Result<[End; 2], Error> {
    let mut ends = Vec::new();
    for (number, interface) in (0_u8..).zip(&options.ports) {
        if !options.i_know && carries_default_route(interface) {
            return Err(format!(
                "--ports {interface}: this interface carries a default route; test traffic does not belong there (RFC 6815). \
                 Choose another, or say --i-know"
            )
            .into());
        }
        let index = fastpath::attach::index_of(interface)?;
        let own =
            fs::read_to_string(format!("/sys/class/net/{interface}/address")).unwrap_or_default();
        let own = mac(own.trim()).ok_or_else(|| format!("{interface} has no Ethernet address"))?;
        let device = match options.device_macs.get(usize::from(number)) {
            Some(text) => mac(text).ok_or_else(|| format!("--device-macs {text}: write it as 02:00:00:00:00:01"))?,
            None => neighbour(interface, number).ok_or_else(|| {
                format!(
                    "the device's address {} is not in the neighbour table of {interface}; give this port {}/24 and ping it, \
                     or say --device-macs",
                    addresses::device_v4(number),
                    addresses::tester_v4(number)
                )
            })?,
        };
        ends.push(End {
            namespace: None,
            interface: interface.clone(),
            index,
            macs: Macs {
                tester: own,
                device,
            },
        });
    }
    <[End; 2]>::try_from(ends).map_err(|_| "--ports needs two interfaces".into())
}

/// `RTF_REJECT` of `linux/route.h`: the kernel's own "no route to anywhere" stands on the loopback interface.
const REJECT: u32 = 0x200;

/// Whether a default route leaves by an interface (`/proc/net/route`, `/proc/net/ipv6_route`).
fn carries_default_route(interface: &str) -> bool {
    let v4 = fs::read_to_string("/proc/net/route").unwrap_or_default();
    let v6 = fs::read_to_string("/proc/net/ipv6_route").unwrap_or_default();
    let in_v4 = v4.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        matches!(fields[..], [name, destination, _, _, _, _, _, mask, ..]
            if name == interface && destination == "00000000" && mask == "00000000")
    });
    let in_v6 = v6.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        matches!(fields[..], [destination, length, .., flags, name]
            if name == interface && length == "00" && destination.bytes().all(|digit| digit == b'0')
                && u32::from_str_radix(flags, 16).is_ok_and(|flags| flags & REJECT == 0))
    });
    in_v4 || in_v6
}

fn neighbour(interface: &str, number: u8) -> Option<[u8; 6]> {
    let address = addresses::device_v4(number).to_string();
    let deadline = Instant::now() + Duration::from_secs(2);
    loop {
        let output = Command::new("ip")
            .args(["neigh", "show", &address, "dev", interface])
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut words = text
            .split_whitespace()
            .skip_while(|word| *word != "lladdr")
            .skip(1);
        if let Some(found) = words.next().and_then(mac) {
            return Some(found);
        }
        if Instant::now() > deadline {
            return None;
        }
        // Asking for it makes the kernel resolve it.
        let _ = Command::new("ping")
            .args(["-c", "1", "-W", "1", "-I", interface, &address])
            .output();
    }
}

fn mac(text: &str) -> Option<[u8; 6]> {
    let bytes: Vec<u8> = text
        .split(':')
        .map(|part| u8::from_str_radix(part, 16).ok())
        .collect::<Option<_>>()?;
    bytes.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hardware_addresses() {
        assert_eq!(mac("02:00:00:00:00:0a"), Some([2, 0, 0, 0, 0, 10]));
        assert_eq!(mac("02:00:00"), None);
        assert_eq!(mac("02:00:00:00:00:zz"), None);
    }

    #[test]
    fn loopback_carries_no_default_route() {
        assert!(!carries_default_route("lo"));
    }
}
