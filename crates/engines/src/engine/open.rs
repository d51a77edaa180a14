//! The one door: how an engine is started, whoever starts it.

use bpf::attach::{self, Mode, Request, index_of};
use clap::ValueEnum;
use fastpath::forward::{Capacity, PROGRAMS_AT_TC};
use port::xsk::Copying;
use serde::Deserialize;

use super::af_packet::PacketSockets;
use super::af_xdp::XskSockets;
use super::in_kernel::InKernel;
use super::user_space::UserSpace;
use super::{Engine, EngineError};

/// What moves the frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum EngineKind {
    /// Our program in the kernel, our table: each port's program where it is fastest, by XDP on
    /// cards whose driver runs it, else at tc.
    #[default]
    Auto,
    /// Our program in the kernel, our table, by XDP.
    Xdp,
    /// Our program in the kernel, the kernel's table.
    XdpKernelFib,
    /// Our program in the kernel behind its receiving (tc), our table: segments pass whole.
    Tc,
    /// Workers in user space behind `AF_XDP` sockets, our table.
    AfXdp,
    /// Workers in user space behind packet sockets, our table.
    AfPacket,
}

impl EngineKind {
    /// The name in options, files and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Xdp => "xdp",
            Self::XdpKernelFib => "xdp-kernel-fib",
            Self::Tc => "tc",
            Self::AfXdp => "af-xdp",
            Self::AfPacket => "af-packet",
        }
    }

    /// Whether workers in user space move the frames, behind sockets.
    pub const fn has_workers(self) -> bool {
        matches!(self, Self::AfXdp | Self::AfPacket)
    }
}

/// How the engine must be attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Require {
    /// Native where the driver can, generic otherwise.
    #[default]
    Any,
    /// Native on every port, or nothing starts.
    Native,
    /// Generic, for comparisons.
    Generic,
    /// Native on every port, and the drivers work on the workers' memory, or nothing starts: engine
    /// `af-xdp` only.
    ZeroCopy,
}

impl Require {
    /// The name in options and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Native => "native",
            Self::Generic => "generic",
            Self::ZeroCopy => "zero-copy",
        }
    }
}

/// How the sockets of engine `af-xdp` are set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// Workers do the driver's receiving themselves.
    pub busy_poll: bool,
    /// Workers carry frames longer than a buffer, too (Linux 6.6). Where the kernel moves the bytes,
    /// each further buffer costs it a page: it forwards such frames faster itself.
    pub long_frames: bool,
}

/// Starts an engine between the named ports, in the calling thread's network namespace, with room
/// for what `capacity` says. It forwards nothing until told to. Only engine `af-xdp` has `sockets` to
/// be set up in one way or the other. It starts with `all` of the ports, or with
/// those that can be set up, if there is one and `require` demands nothing of each: the others have
/// failed ([`Engine::failed_ports`]), or come when they exist.
///
/// # Errors
/// What stands in the way and what to do: another XDP program, a queue that another program holds,
/// no native mode or no zero copy although required, a requirement that the engine cannot meet, a
/// program that this kernel refuses (with the end of its explanation), missing rights.
pub fn open(
    kind: EngineKind,
    ports: &[String],
    require: Require,
    sockets: SocketOptions,
    capacity: Capacity,
    all: bool,
) -> Result<Box<dyn Engine>, EngineError> {
    let refuse = |what: &str, why: &str| Err(EngineError::new(format!("require {what}"), why));
    if sockets.busy_poll && kind != EngineKind::AfXdp {
        return refuse("busy polling", "only workers of engine af-xdp poll");
    }
    if sockets.long_frames && kind != EngineKind::AfXdp {
        return refuse("long frames", "only workers of engine af-xdp have a limit");
    }
    if require == Require::ZeroCopy && kind != EngineKind::AfXdp {
        let why = "only engine af-xdp has memory that a driver could work on; allowed here are \
                   any, native, generic";
        return refuse("zero-copy", why);
    }
    if require != Require::Any && matches!(kind, EngineKind::Tc | EngineKind::AfPacket) {
        let why = format!(
            "engine {} has no XDP program; allowed here is any",
            kind.name()
        );
        return refuse("native or generic", &why);
    }
    let request = match require {
        Require::Any => Request::Any,
        Require::Native | Require::ZeroCopy => Request::Native,
        Require::Generic => Request::Generic,
    };
    let all = all || matches!(require, Require::Native | Require::ZeroCopy);
    remove_left(ports);
    Ok(match kind {
        EngineKind::Auto | EngineKind::Xdp | EngineKind::XdpKernelFib | EngineKind::Tc => {
            Box::new(InKernel::open(kind, ports, request, all, capacity)?)
        }
        EngineKind::AfXdp => {
            let sockets = XskSockets::new(request, copying(require), sockets);
            Box::new(UserSpace::open(ports, sockets, all, capacity)?)
        }
        EngineKind::AfPacket => Box::new(UserSpace::open(ports, PacketSockets, all, capacity)?),
    })
}

/// Starts an engine on ports that run another process's programs, each with its interface index and
/// the mode of its link, which this one gets later ([`Forwarder::receive`]), and the workers of the
/// other, where it has some ([`Engine::hand_over`]).
///
/// # Errors
/// Engine `af-packet`; a port of another mode than `require` says; as [`open`].
///
/// [`Forwarder::receive`]: fastpath::forward::Forwarder::receive
pub fn open_elsewhere(
    kind: EngineKind,
    ports: &[(String, u32, Mode)],
    require: Require,
    sockets: SocketOptions,
    capacity: Capacity,
) -> Result<Box<dyn Engine>, EngineError> {
    if kind == EngineKind::AfPacket {
        let doing = format!("engine {}", kind.name());
        let why = "it cannot take over yet: restart the router";
        return Err(EngineError::new(doing, why));
    }
    let request = match require {
        Require::Any => Request::Any,
        Require::Native | Require::ZeroCopy => Request::Native,
        Require::Generic => Request::Generic,
    };
    let is_other = |mode: Mode| match request {
        Request::Any => false,
        Request::Native => mode != Mode::Native,
        Request::Generic => mode != Mode::Generic,
    };
    if let Some((name, _, mode)) = ports.iter().find(|(_, _, mode)| is_other(*mode)) {
        let why = format!("port {name} is in mode {mode}; restart the router");
        return Err(EngineError::new("require native or generic", why));
    }
    if kind == EngineKind::AfXdp {
        let sockets = XskSockets::new(request, copying(require), sockets);
        let engine = UserSpace::open_elsewhere(ports, sockets, capacity)?;
        return Ok(Box::new(engine));
    }
    let engine = InKernel::open_elsewhere(kind, ports, request, capacity)?;
    Ok(Box::new(engine))
}

fn copying(require: Require) -> Copying {
    match require {
        Require::ZeroCopy => Copying::Never,
        _ => Copying::Any,
    }
}

/// Removes what a killed process may have left at tc of these ports, which does nothing any more
/// ([`bpf::classifier`]). Where that fails, it stays.
pub fn remove_left(ports: &[String]) {
    for ifindex in ports.iter().flat_map(|port| index_of(port)) {
        let _stays = attach::remove_left(&PROGRAMS_AT_TC, ifindex);
    }
}

#[cfg(test)]
#[path = "../../tests/unit/open.rs"]
mod tests;
