//! Network namespaces of our own, for measurements that touch no real network.
//!
//! A [`Namespace`] is named `cl-<pid>-<name>`, quiet (no IPv6 autoconfiguration, so no frame that
//! we did not send; no forwarding), and deleted when dropped, with every interface in it. Set-up
//! goes through the `ip` command of iproute2, in batches; work inside goes through
//! [`Namespace::enter`], which runs a closure in a thread that has joined the namespace, so the
//! calling thread never leaves its own. Cables between namespaces are [`crate::bed`]'s.
//!
//! All of it needs root (`CAP_SYS_ADMIN` and `CAP_NET_ADMIN`).

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::mount::{UnmountFlags, unmount};
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

pub use crate::network_error::Error;
use crate::offload::{self, Offload};
use crate::{files, link, process};

/// Prefix of all our namespaces.
const PREFIX: &str = "cl-";
/// Of `asm-generic/socket.h`; not every C library has it.
const SO_NETNS_COOKIE: libc::c_int = 71;
/// Where `ip netns` keeps its handles.
const HANDLES: &str = "/run/netns";
/// Names in use by this process, so that two of its beds can have namespaces of the same name.
static TAKEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// A network namespace that is deleted with everything in it when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Namespace {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    full_name: String,
    own_name: String,
}

impl Namespace {
    /// Makes a namespace `cl-<pid>-<name>` with its loopback interface up, after removing leftovers
    /// of dead processes. When this process has one of that name already, a number is added.
    ///
    /// # Errors
    /// Without root, without iproute2, or when the kernel refuses.
    pub fn new(name: &str) -> Result<Self, Error> {
        let mut made = Self::all(&[name])?;
        made.pop().ok_or_else(|| Error::NoPlace(name.to_owned()))
    }

    /// Makes many at once, as [`Namespace::new`] makes one.
    pub(crate) fn all(names: &[&str]) -> Result<Vec<Self>, Error> {
        if !process::is_root() {
            return Err(Error::NotRoot);
        }
        sweep_leftovers();
        // From here on the guards remove them, whatever fails.
        let made: Vec<Self> = names.iter().map(|name| Self::reserve(name)).collect();
        let lines = made.iter().fold(String::new(), |lines, namespace| {
            lines + "netns add " + namespace.name() + "\n"
        });
        batch(None, &lines, OnFailure::Stop)?;
        for namespace in &made {
            namespace.quieten()?;
        }
        Ok(made)
    }

    fn reserve(own_name: &str) -> Self {
        let first = format!("{PREFIX}{}-{own_name}", std::process::id());
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let numbered = (2_u32..).map(|number| format!("{first}-{number}"));
        let full_name = std::iter::once(first.clone())
            .chain(numbered)
            .find(|name| !taken.contains(name))
            .unwrap_or(first);
        taken.insert(full_name.clone());
        let own_name = own_name.to_owned();
        let inner = Arc::new(Inner {
            full_name,
            own_name,
        });
        Self { inner }
    }

    /// No frame that we did not send, no forwarding that was not asked for; loopback up.
    fn quieten(&self) -> Result<(), Error> {
        self.enter(|| {
            for (key, value) in [
                ("net/ipv4/ip_forward", "0"),
                ("net/ipv6/conf/all/accept_ra", "0"),
                ("net/ipv6/conf/default/accept_ra", "0"),
                // Neither link-local addresses, nor the solicitations and reports that come with
                // them.
                ("net/ipv6/conf/default/addr_gen_mode", "1"),
            ] {
                // A kernel without IPv6 does not have them, and does not need them.
                let _ = fs::write(PathBuf::from("/proc/sys").join(key), value);
            }
            link::set_up(link::LOOPBACK)
        })?
        .map_err(|source| Error::Setting {
            name: self.name().to_owned(),
            key: "lo".to_owned(),
            value: "up".to_owned(),
            source,
        })
    }

    /// Its full name, as `ip netns` shows it.
    pub fn name(&self) -> &str {
        &self.inner.full_name
    }

    /// The name that it was made with.
    pub(crate) fn own_name(&self) -> &str {
        &self.inner.own_name
    }

    /// The handle that `setns` takes.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(HANDLES).join(&self.inner.full_name)
    }

    /// Runs `ip -n <this>` with the words of `line` and returns what it printed.
    ///
    /// # Errors
    /// When the command fails; the error has its words.
    pub fn ip(&self, line: impl AsRef<str>) -> Result<String, Error> {
        ip(["-n", self.name()]
            .into_iter()
            .chain(line.as_ref().split_whitespace()))
    }

    /// Runs many lines in one call of `ip -n <this>`.
    ///
    /// # Errors
    /// With [`OnFailure::Stop`] the first line that fails, with `ip`'s words.
    pub fn batch(&self, lines: &str, on_failure: OnFailure) -> Result<(), Error> {
        batch(Some(self.name()), lines, on_failure)
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
                    let network = Some(LinkNameSpaceType::Network);
                    move_into_link_name_space(handle.as_fd(), network)?;
                    Ok(work())
                })
                .join();
            joined
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                .map_err(|error: rustix::io::Errno| join_error(error.into()))
        })
    }

    /// The index of an interface in this namespace.
    ///
    /// # Errors
    /// [`Error::Vanished`] when there is none of that name.
    pub fn interface_index(&self, interface: &str) -> Result<u32, Error> {
        let index = self.enter(|| index_of(interface))?;
        index.map_err(|_| Error::Vanished {
            name: self.name().to_owned(),
            interface: interface.to_owned(),
        })
    }

    /// Whether frames that are sent by an interface of this namespace leave it: it is up and the
    /// kernel has noticed its carrier.
    ///
    /// # Errors
    /// [`Error::Vanished`] when there is none of that name.
    pub(crate) fn is_up(&self, interface: &str) -> Result<bool, Error> {
        let up = self.enter(|| link::is_up(index_of(interface)?))?;
        up.map_err(|_| Error::Vanished {
            name: self.name().to_owned(),
            interface: interface.to_owned(),
        })
    }

    /// Switches a feature of one of its interfaces on or off.
    ///
    /// # Errors
    /// As [`offload::switch`].
    pub fn switch(&self, interface: &str, offload: Offload, on: bool) -> Result<(), Error> {
        self.enter(|| offload::switch(interface, offload, on))?
    }
}

/// The index of an interface in the namespace of the calling thread.
///
/// # Errors
/// When there is none of that name.
pub fn index_of(interface: &str) -> io::Result<u32> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    Ok(name_to_index(&socket, interface)?)
}

/// The number of the calling thread's network namespace, which no other gets until the machine
/// starts anew (`SO_NETNS_COOKIE`, Linux 5.14).
///
/// # Errors
/// The kernel's.
pub fn cookie() -> io::Result<u64> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let mut cookie = 0_u64;
    let mut bytes = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `bytes` bytes, which are those of `cookie`; both live
    // through the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut bytes,
        )
    };
    process::checked(result).map(|_| cookie)
}

impl Drop for Inner {
    fn drop(&mut self) {
        delete(&self.full_name);
        TAKEN
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.full_name);
    }
}

/// Deletes namespaces of ours whose process is dead, with every interface in them. Without root it
/// does nothing.
pub fn sweep_leftovers() {
    if !process::is_root() {
        return;
    }
    for (_, name, _) in files::leftovers(HANDLES, PREFIX) {
        delete(&name);
    }
}

/// As `ip netns delete`: takes its handle away, and the kernel the rest.
fn delete(full_name: &str) {
    let handle = PathBuf::from(HANDLES).join(full_name);
    // A handle that nothing is mounted on is left of a crash; what fails here the next run sweeps.
    let _ = unmount(&handle, UnmountFlags::DETACH);
    let _ = fs::remove_file(handle);
}

/// The namespaces of ours that exist now, of living and dead processes.
pub fn existing() -> Vec<String> {
    let mut names: Vec<String> = files::entries(HANDLES)
        .map(|(name, _)| name)
        .filter(|name| process::owner(name, PREFIX).is_some())
        .collect();
    names.sort_unstable();
    names
}

/// What a batch does about a line that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// Ends, with an error that has the line.
    Stop,
    /// Goes on with the next line.
    Continue,
}

/// Runs `lines` in one call of `ip`, in `namespace` or where we are.
pub(crate) fn batch(
    namespace: Option<&str>,
    lines: &str,
    on_failure: OnFailure,
) -> Result<(), Error> {
    if lines.is_empty() {
        return Ok(());
    }
    let mut command = Command::new("ip");
    if let Some(name) = namespace {
        command.args(["-n", name]);
    }
    if on_failure == OnFailure::Continue {
        command.arg("-force");
    }
    // A file without a name: a pipe could fill up on both sides.
    let mut file = tempfile::tempfile().map_err(Error::NoIp)?;
    file.write_all(lines.as_bytes()).map_err(Error::NoIp)?;
    file.rewind().map_err(Error::NoIp)?;
    match run(command.args(["-batch", "-"]).stdin(file)) {
        Err(Error::Ip { message, .. }) if on_failure == OnFailure::Stop => {
            let number = message
                .rsplit_once("-:")
                .and_then(|(_, number)| number.parse().ok());
            let line = lines.lines().nth(number.unwrap_or(1_usize) - 1);
            let arguments = line.unwrap_or_default().to_owned();
            Err(Error::Ip { arguments, message })
        }
        Err(error @ Error::NoIp(_)) => Err(error),
        _ => Ok(()),
    }
}

fn ip<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> Result<String, Error> {
    run(Command::new("ip").args(words))
}

pub(crate) fn run(command: &mut Command) -> Result<String, Error> {
    // In a process group of its own: Ctrl-C must not kill it while it cleans up.
    let output = command.process_group(0).output().map_err(Error::NoIp)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
    Err(Error::Ip {
        arguments: words.join(" "),
        message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}
