//! Network namespaces and virtual Ethernet pairs of our own, for measurements that touch no real
//! network.
//!
//! A [`Namespace`] is named `cl-<pid>-<name>`, quiet (no IPv6 autoconfiguration, so no frame that
//! we did not send), and deleted when dropped, with every interface in it. A [`Veth`] is made
//! between two of them, never in the namespace of the host. Set-up goes through the `ip` command of
//! iproute2; work inside goes through [`Namespace::enter`], which runs a closure in a thread that
//! has joined the namespace, so the calling thread never leaves its own.
//!
//! All of it needs root (`CAP_SYS_ADMIN` and `CAP_NET_ADMIN`).

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::process;

/// Prefix of all our namespaces.
const PREFIX: &str = "cl-";
/// Where `ip netns` keeps its handles.
const HANDLES: &str = "/run/netns";
/// How long a cable may take until the kernel has noticed that both ends are up.
const LINK_PATIENCE: Duration = Duration::from_secs(5);
/// Pause between two looks at it.
const LINK_PAUSE: Duration = Duration::from_millis(5);
/// Longest name of an interface (IFNAMSIZ less the final zero).
const INTERFACE_NAME_MAX: usize = 15;

/// A namespace or interface could not be made, used or removed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The rights are missing.
    #[error(
        "network namespaces need root; run the command with sudo, or choose an engine that needs \
         none"
    )]
    NotRoot,
    /// The `ip` command is missing.
    #[error("the command \"ip\" cannot be run: {0}; install the package iproute2")]
    NoIp(io::Error),
    /// The `ip` command failed.
    #[error("\"ip {arguments}\" failed: {message}")]
    Ip {
        /// What it was asked.
        arguments: String,
        /// What it answered.
        message: String,
    },
    /// The namespace could not be joined.
    #[error("cannot join the network namespace {name}: {source}; was it deleted meanwhile?")]
    Join {
        /// The namespace.
        name: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// A setting below `/proc/sys` could not be written.
    #[error("cannot set {key} to {value} in {name}: {source}")]
    Setting {
        /// The namespace.
        name: String,
        /// The setting, as in `sysctl`.
        key: String,
        /// The value.
        value: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// A cable does not come up.
    #[error(
        "the interface {interface} in {name} does not come up; look at the kernel's log (dmesg) \
         and try again"
    )]
    Down {
        /// The namespace.
        name: String,
        /// The interface.
        interface: String,
    },
    /// An interface has gone.
    #[error(
        "the interface {interface} in {name} has vanished; leave the namespaces {PREFIX}* alone \
         while a run lasts"
    )]
    Vanished {
        /// The namespace.
        name: String,
        /// The interface.
        interface: String,
    },
}

/// A network namespace that is deleted with everything in it when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Namespace {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    name: String,
}

impl Namespace {
    /// Makes a namespace `cl-<pid>-<name>` with its loopback interface up, after removing leftovers
    /// of dead processes.
    ///
    /// # Errors
    /// Without root, without iproute2, or when the kernel refuses.
    pub fn new(name: &str) -> Result<Self, Error> {
        if !process::is_root() {
            return Err(Error::NotRoot);
        }
        sweep_leftovers();
        let name = format!("{PREFIX}{}-{name}", std::process::id());
        ip(["netns", "add", &name])?;
        // From here on the guard removes it, whatever fails.
        let namespace = Self {
            inner: Arc::new(Inner { name }),
        };
        for key in [
            "net.ipv6.conf.all.accept_ra",
            "net.ipv6.conf.default.accept_ra",
        ] {
            namespace.quieten(key, "0");
        }
        // Neither link-local addresses, nor the solicitations and reports that come with them.
        namespace.quieten("net.ipv6.conf.default.addr_gen_mode", "1");
        namespace.ip(["link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// Its full name, as `ip netns` shows it.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The handle that `setns` takes.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(HANDLES).join(&self.inner.name)
    }

    /// Runs `ip -n <this> arguments…` and returns what it printed.
    ///
    /// # Errors
    /// When the command fails; the error has its words.
    pub fn ip<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<String, Error> {
        let own = ["-n", self.name()].map(|word| OsStr::new(word).to_owned());
        ip(own
            .into_iter()
            .chain(arguments.into_iter().map(|word| word.as_ref().to_owned())))
    }

    /// A command that will run inside: `ip netns exec <this> program`.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", self.name()]).arg(program);
        command
    }

    /// Sets a kernel setting of this namespace, `net.ipv4.ip_forward` for example.
    ///
    /// # Errors
    /// When there is no such setting or the value is refused.
    pub fn set(&self, key: &str, value: &str) -> Result<(), Error> {
        let path = PathBuf::from("/proc/sys").join(key.replace('.', "/"));
        self.enter(|| fs::write(&path, value))?
            .map_err(|source| Error::Setting {
                name: self.name().to_owned(),
                key: key.to_owned(),
                value: value.to_owned(),
                source,
            })
    }

    /// Sets what a kernel without IPv6 does not have, and does not need.
    fn quieten(&self, key: &str, value: &str) {
        let _ = self.set(key, value);
    }

    /// Runs `work` in a thread of its own that has joined this namespace, and returns its result.
    /// Threads that `work` starts are in the namespace too, and so is every socket they open. A
    /// panic of `work` goes on in the caller.
    ///
    /// # Errors
    /// When the namespace cannot be joined.
    pub fn enter<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R, Error> {
        let join_error = |source| Error::Join {
            name: self.name().to_owned(),
            source,
        };
        let handle = File::open(self.path()).map_err(join_error)?;
        std::thread::scope(|scope| {
            let joined = scope
                .spawn(|| {
                    // SAFETY: setns takes a descriptor that `handle` keeps open, and changes this
                    // new thread only.
                    if unsafe { libc::setns(handle.as_raw_fd(), libc::CLONE_NEWNET) } == 0 {
                        Ok(work())
                    } else {
                        Err(io::Error::last_os_error())
                    }
                })
                .join();
            joined
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                .map_err(join_error)
        })
    }

    /// The index of an interface in this namespace.
    ///
    /// # Errors
    /// [`Error::Vanished`] when there is none of that name.
    pub fn interface_index(&self, interface: &str) -> Result<u32, Error> {
        let name = std::ffi::CString::new(interface).unwrap_or_default();
        // SAFETY: the name is a string that ends in zero and outlives the call.
        let index = self.enter(|| unsafe { libc::if_nametoindex(name.as_ptr()) })?;
        if index == 0 {
            return Err(Error::Vanished {
                name: self.name().to_owned(),
                interface: interface.to_owned(),
            });
        }
        Ok(index)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // A failure here is swept by the next run.
        let _ = ip(["netns", "delete", &self.name]);
    }
}

/// One end of a [`Veth`].
#[derive(Clone, Debug)]
pub struct End {
    /// Where it is; holding it keeps the namespace.
    pub namespace: Namespace,
    /// Its name there.
    pub interface: String,
    /// Its index there.
    pub index: u32,
    /// Its hardware address.
    pub mac: [u8; 6],
}

impl End {
    /// Waits until the kernel has noticed the carrier: until then, up to a second, it drops what is
    /// sent.
    fn wait_until_up(&self) -> Result<(), Error> {
        let deadline = Instant::now() + LINK_PATIENCE;
        while !self
            .namespace
            .ip(["-o", "link", "show", "dev", &self.interface])?
            .contains("state UP")
        {
            if Instant::now() > deadline {
                return Err(Error::Down {
                    name: self.namespace.name().to_owned(),
                    interface: self.interface.clone(),
                });
            }
            std::thread::sleep(LINK_PAUSE);
        }
        Ok(())
    }
}

/// A virtual cable between two namespaces, both ends up and ready to send. It goes away with either
/// namespace.
#[derive(Clone, Debug)]
pub struct Veth {
    /// The first end.
    pub a: End,
    /// The second end.
    pub b: End,
}

impl Veth {
    /// Lays a cable from interface `a.1` in `a.0` to interface `b.1` in `b.0`, with `queues`
    /// receive and transmit queues at each end.
    ///
    /// Hardware addresses are made from the names, so that runs do not differ by them.
    ///
    /// # Errors
    /// When a name is too long or in use, or the kernel refuses.
    pub fn new(a: (&Namespace, &str), b: (&Namespace, &str), queues: u32) -> Result<Self, Error> {
        for (_, interface) in [a, b] {
            if interface.len() > INTERFACE_NAME_MAX || interface.contains(char::is_whitespace) {
                return Err(Error::Ip {
                    arguments: format!("link add {interface}"),
                    message: format!(
                        "an interface's name has at most {INTERFACE_NAME_MAX} characters and no \
                         spaces"
                    ),
                });
            }
        }
        let queues = queues.max(1);
        let (mac_a, mac_b) = (mac(a.0, a.1), mac(b.0, b.1));
        let (text_a, text_b) = (mac_text(mac_a), mac_text(mac_b));
        let line = format!(
            "link add {} netns {} address {text_a} numtxqueues {queues} numrxqueues {queues} type \
             veth peer {} netns {} address {text_b} numtxqueues {queues} numrxqueues {queues}",
            a.1,
            a.0.name(),
            b.1,
            b.0.name()
        );
        ip(line.split_whitespace())?;
        let end = |(namespace, interface): (&Namespace, &str), mac| -> Result<End, Error> {
            namespace.ip(["link", "set", interface, "up"])?;
            Ok(End {
                namespace: namespace.clone(),
                interface: interface.to_owned(),
                index: namespace.interface_index(interface)?,
                mac,
            })
        };
        let veth = Self {
            a: end(a, mac_a)?,
            b: end(b, mac_b)?,
        };
        veth.a.wait_until_up()?;
        veth.b.wait_until_up()?;
        Ok(veth)
    }
}

/// A locally administered address made from the names (FNV-1a), without the process id: the same in
/// every run.
fn mac(namespace: &Namespace, interface: &str) -> [u8; 6] {
    let own_name = namespace.name().splitn(3, '-').nth(2).unwrap_or_default();
    let mut hash: u32 = 0x811c_9dc5;
    for byte in own_name.bytes().chain([b'/']).chain(interface.bytes()) {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    let [a, b, c, d] = hash.to_be_bytes();
    [0x02, 0xc0, a, b, c, d]
}

fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// Deletes namespaces of ours whose process is dead, with every interface in them. Without root it
/// does nothing.
pub fn sweep_leftovers() {
    if !process::is_root() {
        return;
    }
    let Ok(entries) = fs::read_dir(HANDLES) else {
        return;
    };
    for name in entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
    {
        if process::owner(&name, PREFIX).is_some_and(|pid| !process::is_alive(pid)) {
            let _ = ip(["netns", "delete", &name]);
        }
    }
}

/// The namespaces of ours that exist now, of living and dead processes.
pub fn existing() -> Vec<String> {
    let entries = fs::read_dir(HANDLES).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| process::owner(name, PREFIX).is_some())
        .collect();
    names.sort_unstable();
    names
}

fn ip<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Result<String, Error> {
    let arguments: Vec<S> = arguments.into_iter().collect();
    // In a process group of its own: Ctrl-C must not kill it while it cleans up.
    let output = Command::new("ip")
        .args(&arguments)
        .process_group(0)
        .output()
        .map_err(Error::NoIp)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words: Vec<_> = arguments
        .iter()
        .map(|word| word.as_ref().to_string_lossy())
        .collect();
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::Ip {
        arguments: words.join(" "),
        message,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> bool {
        if !process::is_root() {
            println!("skipped: needs root to make network namespaces");
        }
        process::is_root()
    }

    #[test]
    fn without_root_the_error_says_so() {
        if !process::is_root() {
            let error = Namespace::new("x").unwrap_err().to_string();
            assert!(error.contains("sudo"), "{error}");
        }
    }

    #[test]
    fn a_cable_joins_two_namespaces_and_both_go_away() {
        if !root() {
            return;
        }
        let left = Namespace::new("left").unwrap();
        let right = Namespace::new("right").unwrap();
        let veth = Veth::new((&left, "a0"), (&right, "b0"), 2).unwrap();
        assert_ne!(veth.a.mac, veth.b.mac);
        assert_eq!(right.interface_index("b0").unwrap(), veth.b.index);
        let shown = left.ip(["-o", "link", "show", "a0"]).unwrap();
        assert!(
            shown.contains(&mac_text(veth.a.mac)) && shown.contains("UP"),
            "{shown}"
        );
        let error = left.interface_index("zz").unwrap_err();
        assert!(error.to_string().contains("vanished"));

        left.set("net.ipv4.ip_forward", "1").unwrap();
        let read = || fs::read_to_string("/proc/sys/net/ipv4/ip_forward").unwrap();
        assert_eq!(left.enter(read).unwrap().trim(), "1");
        assert_eq!(right.enter(read).unwrap().trim(), "0");

        let names = [left.name().to_owned(), right.name().to_owned()];
        drop((left, right));
        assert!(
            names.iter().all(|name| existing().contains(name)),
            "the cable's ends hold them"
        );
        drop(veth);
        assert!(names.iter().all(|name| !existing().contains(name)));
    }

    #[test]
    fn leftovers_of_the_dead_are_swept_and_those_of_the_living_stay() {
        if !root() {
            return;
        }
        let dead = format!("{PREFIX}{}-leftover", u32::MAX);
        ip(["netns", "add", &dead]).unwrap();
        let living = Namespace::new("living").unwrap();
        assert!(!existing().contains(&dead) && existing().contains(&living.name().to_owned()));
    }

    #[test]
    fn names_that_are_too_long_are_refused() {
        if !root() {
            return;
        }
        let one = Namespace::new("long").unwrap();
        let error = Veth::new((&one, "a-very-long-interface"), (&one, "b"), 1).unwrap_err();
        assert!(error.to_string().contains("15 characters"));
    }

    #[test]
    fn a_panic_inside_reaches_the_caller() {
        if !root() {
            return;
        }
        let one = Namespace::new("panic").unwrap();
        let caught = std::panic::catch_unwind(|| one.enter(|| panic!("inside")));
        assert!(caught.is_err());
    }
}
