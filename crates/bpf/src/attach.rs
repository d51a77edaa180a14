//! Programs on interfaces. XDP: native where the driver can, generic otherwise, and always saying
//! which.
//!
//! An attachment is a bpf link held by a descriptor: when the process ends, by whatever cause, the
//! kernel closes the descriptor and the interface is as before. Where the kernel has no links for tc,
//! it is a [filter](crate::classifier), of which an empty shell may stay. Interfaces are found in the
//! network namespace of the calling thread.

mod hand_over;

use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::{fmt, io};

use crate::classifier::{self, Filter};
use crate::program::Program;
use crate::sys::Hook;
use crate::{Error, Result, sys};

const FLAG_GENERIC: u32 = 1 << 1;
const FLAG_NATIVE: u32 = 1 << 2;

/// Where in the receive path the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// In the driver, before the kernel makes a socket buffer.
    Native,
    /// After it, on any device; slower, and frames are copied.
    Generic,
    /// Not XDP: at tc, on any device, with whole segments.
    Tc,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native => "native",
            Self::Generic => "generic",
            Self::Tc => "tc",
        })
    }
}

/// Which mode is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Request {
    /// Native, or else generic.
    #[default]
    Any,
    /// Native or an error.
    Native,
    /// Generic.
    Generic,
}

/// What keeps a program where it is.
#[derive(Debug)]
enum Hold {
    Link(OwnedFd),
    /// Removes itself.
    Filter(#[expect(dead_code, reason = "held")] Filter),
    /// Another process does, and has or gets the link.
    Elsewhere,
}

/// A program on an interface; dropping it detaches the program.
#[derive(Debug)]
pub struct Attachment {
    interface: String,
    ifindex: u32,
    mode: Mode,
    fallback: Option<String>,
    hold: Hold,
    /// At tc, where any number of programs is let in: that this is the only one of its name.
    only: Option<UnixDatagram>,
}

impl Attachment {
    /// Attaches `program` to `interface` of the calling thread's network namespace.
    ///
    /// # Errors
    /// [`Error::NoInterface`], [`Error::Busy`] when another program is attached,
    /// [`Error::NotNative`], [`Error::Attach`].
    pub fn new(program: &Program, interface: &str, request: Request) -> Result<Self> {
        Self::at(program, interface, index_of(interface)?, request)
    }

    /// As [`Attachment::new`], to the interface with this index, which `interface` is the name of:
    /// never to another that has got the name meanwhile.
    ///
    /// # Errors
    /// As [`Attachment::new`].
    pub fn at(program: &Program, interface: &str, ifindex: u32, request: Request) -> Result<Self> {
        let link = |flags| sys::link_create(Hook::Xdp, program.as_fd(), ifindex, flags);
        let attached = |mode, fallback, link| Self {
            interface: interface.to_owned(),
            ifindex,
            mode,
            fallback,
            hold: Hold::Link(link),
            only: None,
        };
        let failed = |error: io::Error| match error.raw_os_error() {
            // EEXIST: one in the other mode.
            Some(libc::EBUSY | libc::EEXIST) => Error::Busy {
                interface: interface.to_owned(),
            },
            _ => Error::Attach {
                interface: interface.to_owned(),
                error,
            },
        };
        if request == Request::Generic {
            let link = link(FLAG_GENERIC).map_err(failed)?;
            return Ok(attached(Mode::Generic, None, link));
        }
        let refusal = match link(FLAG_NATIVE) {
            Ok(link) => return Ok(attached(Mode::Native, None, link)),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EBUSY | libc::EEXIST)) => {
                return Err(failed(error));
            }
            Err(error) => error,
        };
        if request == Request::Native {
            return Err(Error::NotNative {
                interface: interface.to_owned(),
                error: refusal,
            });
        }
        let link = link(FLAG_GENERIC).map_err(failed)?;
        Ok(attached(Mode::Generic, Some(refusal.to_string()), link))
    }

    /// Attaches `program` at tc, where frames arrive that packet sockets have had their copy of:
    /// after the kernel has made a socket buffer. Programs of other names are not in its way.
    ///
    /// # Errors
    /// [`Error::Held`] when a process has attached a program of this name, [`Error::Attach`].
    pub fn at_tc(program: &Program, interface: &str, ifindex: u32) -> Result<Self> {
        let failed = |error| Error::Attach {
            interface: interface.to_owned(),
            error,
        };
        let only = only(program.name(), ifindex).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => Error::Held {
                interface: interface.to_owned(),
            },
            _ => failed(error),
        })?;
        let link = sys::link_create(Hook::Tc, program.as_fd(), ifindex, 0);
        let hold = match link.map(Hold::Link) {
            // Before Linux 6.6.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                Filter::new(program.as_fd(), program.name(), ifindex).map(Hold::Filter)
            }
            link => link,
        };
        Ok(Self {
            interface: interface.to_owned(),
            ifindex,
            mode: Mode::Tc,
            fallback: None,
            hold: hold.map_err(failed)?,
            only: Some(only),
        })
    }

    /// Puts another program of the same kind in this one's place; no frame passes between them.
    ///
    /// # Errors
    /// [`Error::Attach`], also where no link is held.
    pub fn exchange(&self, program: &impl AsFd) -> Result<()> {
        let done = match &self.hold {
            Hold::Link(link) => sys::link_update(link.as_fd(), program.as_fd()),
            Hold::Filter(_) | Hold::Elsewhere => Err(io::ErrorKind::Unsupported.into()),
        };
        done.map_err(|error| Error::Attach {
            interface: self.interface.clone(),
            error,
        })
    }

    /// Which mode it got.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Why it is not native although native would have been taken; the driver's refusal.
    pub fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    /// Name of the interface at the time of attaching.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// Index of the interface.
    pub fn ifindex(&self) -> u32 {
        self.ifindex
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if let Hold::Link(link) = &self.hold {
            // An interface that is gone has no program to detach; closing the descriptor does the
            // rest.
            let _gone = sys::link_detach(link.as_fd());
        }
    }
}

/// Removes what has stayed at an interface of filters with programs of these names, where the kernel
/// has no links for tc. What a living process has there stays.
///
/// # Errors
/// The kernel's.
pub fn remove_left(programs: &[&str], ifindex: u32) -> io::Result<()> {
    programs
        .iter()
        .try_for_each(|program| match only(program, ifindex) {
            Ok(_only) => classifier::remove_left(program, ifindex),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(()),
            Err(error) => Err(error),
        })
}

/// A name that one process at a time has in a network namespace, and that ends with it: which
/// programs are attached only the administrator of the whole machine may ask.
fn only(program: &str, ifindex: u32) -> io::Result<UnixDatagram> {
    let name = format!("corelane/tc/{program}/{ifindex}");
    UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

/// Lets `program` run at a tracepoint of the kernel until the descriptor is closed.
///
/// # Errors
/// [`Error::Run`].
pub fn at_tracepoint(program: &Program, tracepoint: &str) -> Result<OwnedFd> {
    let attach = || {
        let name = std::ffi::CString::new(tracepoint)?;
        sys::tracepoint_attach(program.as_fd(), Some(&name))
    };
    attach().map_err(|error| Error::Run {
        program: program.name().to_owned(),
        error,
    })
}

/// Index of an interface in the calling thread's network namespace.
///
/// # Errors
/// [`Error::NoInterface`].
pub fn index_of(interface: &str) -> Result<u32> {
    host::namespace::index_of(interface).map_err(|_| Error::NoInterface(interface.to_owned()))
}
