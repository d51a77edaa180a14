//! The system calls of a packet socket, each with what it is for.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use memmap2::{MmapOptions, MmapRaw};
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};
use wire::ethernet::MacAddress;

use super::interface::Interface;
use crate::{Burst, Pool, PortError, option};

/// Receive frames of every protocol (`ETH_P_ALL`).
pub(super) const EVERY_PROTOCOL: u16 = libc::ETH_P_ALL as u16;
/// Receive nothing.
pub(super) const NO_PROTOCOL: u16 = 0;

/// A packet socket and the name of its interface.
#[derive(Debug)]
pub(super) struct Socket {
    descriptor: OwnedFd,
    name: String,
}

impl Socket {
    /// A socket that receives nothing yet.
    pub(super) fn new(name: &str) -> Result<Self, PortError> {
        let descriptor = net::socket_with(
            AddressFamily::PACKET,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(|source| failed(name, "open a packet socket", source.into()))?;
        Ok(Self {
            descriptor,
            name: name.to_owned(),
        })
    }

    /// Index, address and MTU of the interface by name, in the socket's namespace.
    pub(super) fn interface(&self) -> Result<Interface, PortError> {
        // SAFETY: all-zero is a valid `ifreq`: integers and arrays of integers.
        let mut request: libc::ifreq = unsafe { MaybeUninit::zeroed().assume_init() };
        // The last byte stays zero.
        if self.name.is_empty() || self.name.len() >= request.ifr_name.len() {
            return Err(failed(
                &self.name,
                "find the interface",
                io::Error::from(io::ErrorKind::NotFound),
            ));
        }
        for (place, byte) in request.ifr_name.iter_mut().zip(self.name.bytes()) {
            *place = byte.cast_signed();
        }
        // The C libraries disagree about the types of these numbers, not about their values.
        let mut ask = |code: libc::c_ulong, action| {
            // SAFETY: the kernel reads the name from, and writes its answer into, the `ifreq`
            // given.
            let result = unsafe { libc::ioctl(self.as_raw_fd(), code as _, &raw mut request) };
            if result < 0 {
                let source = io::Error::last_os_error();
                let missing = source.raw_os_error() == Some(libc::ENODEV);
                let source = if missing {
                    io::Error::from(io::ErrorKind::NotFound)
                } else {
                    source
                };
                return Err(failed(&self.name, action, source));
            }
            Ok(request.ifr_ifru)
        };
        // SAFETY: each answer is read from the member that its request is documented to fill
        // (netdevice(7)).
        unsafe {
            let index = ask(libc::SIOCGIFINDEX, "find the interface")?.ifru_ifindex;
            let address = ask(libc::SIOCGIFHWADDR, "read its hardware address")?
                .ifru_hwaddr
                .sa_data;
            let mtu = ask(libc::SIOCGIFMTU, "read its MTU")?.ifru_mtu;
            let mac = std::array::from_fn(|at| address[at].cast_unsigned());
            Ok(Interface {
                index: index.cast_unsigned(),
                mac: MacAddress(mac),
                mtu: mtu.cast_unsigned(),
            })
        }
    }

    fn option<T>(
        &self,
        option: libc::c_int,
        value: &T,
        action: &'static str,
    ) -> Result<(), PortError> {
        option::set(&self.descriptor, libc::SOL_PACKET, option, value)
            .map_err(|source| failed(&self.name, action, source))
    }

    /// Does not hear what leaves by the interface.
    pub(super) fn ignore_outgoing(&self) -> Result<(), PortError> {
        self.option(
            libc::PACKET_IGNORE_OUTGOING,
            &1_i32,
            "ignore outgoing frames (Linux 4.20)",
        )
    }

    /// Hears only what an eBPF program for sockets lets through.
    pub(super) fn filter(&self, program: BorrowedFd<'_>) -> Result<(), PortError> {
        let (level, option, value) = (libc::SOL_SOCKET, libc::SO_ATTACH_BPF, program.as_raw_fd());
        option::set(&self.descriptor, level, option, &value)
            .map_err(|source| failed(&self.name, "attach a filter", source))
    }

    /// Lets so many bytes of frames be on their way at once (socket(7)).
    fn room(&self, bytes: usize) -> Result<(), PortError> {
        sockopt::set_socket_send_buffer_size_force(&self.descriptor, bytes)
            .map_err(|source| failed(&self.name, "enlarge the send buffer", source.into()))
    }

    /// Sends straight to the driver.
    pub(super) fn bypass_queueing(&self) -> Result<(), PortError> {
        self.option(
            libc::PACKET_QDISC_BYPASS,
            &1_i32,
            "bypass the queueing discipline",
        )
    }

    /// Shares what the interface receives with the other sockets of the group, by flow.
    pub(super) fn share(&self, group: u16) -> Result<(), PortError> {
        let value = u32::from(group) | libc::PACKET_FANOUT_HASH << 16;
        self.option(libc::PACKET_FANOUT, &value, "join the fanout group")
    }

    /// Makes the receive ring and maps it.
    pub(super) fn map_ring(
        &self,
        request: &libc::tpacket_req,
        bytes: usize,
    ) -> Result<MmapRaw, PortError> {
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        self.option(libc::PACKET_VERSION, &version, "choose the ring's version")?;
        self.option(libc::PACKET_RX_RING, request, "make the receive ring")?;
        MmapOptions::new()
            .len(bytes)
            .map_raw(&self.descriptor)
            .map_err(|source| failed(&self.name, "map the receive ring", source))
    }

    /// Begins to receive frames of `protocol` from the interface.
    pub(super) fn bind(&self, index: u32, protocol: u16) -> Result<(), PortError> {
        // SAFETY: all-zero is a valid `sockaddr_ll`: integers and an array of integers.
        let mut address: libc::sockaddr_ll = unsafe { MaybeUninit::zeroed().assume_init() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol.to_be();
        address.sll_ifindex = index.cast_signed();
        let size = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the kernel reads `size` bytes from `address`, which is that long.
        let result = unsafe { libc::bind(self.as_raw_fd(), (&raw const address).cast(), size) };
        option::checked(result)
            .map_err(|source| failed(&self.name, "bind to the interface", source))
    }

    /// Whether the interface is still there and up: the kernel marks the sockets of one that is
    /// not.
    pub(super) fn state(&self) -> Result<(), PortError> {
        match sockopt::socket_error(&self.descriptor) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(state)) => Err(self.classify(state.into(), "use the interface")),
            Err(source) => Err(failed(
                &self.name,
                "ask for the socket's state",
                source.into(),
            )),
        }
    }

    /// Frames that found no free slot since the last call.
    pub(super) fn lost(&self) -> u64 {
        let none = libc::tpacket_stats {
            tp_packets: 0,
            tp_drops: 0,
        };
        let level = libc::SOL_PACKET;
        option::get(&self.descriptor, level, libc::PACKET_STATISTICS, none)
            .map_or(0, |found| u64::from(found.tp_drops))
    }

    fn classify(&self, source: io::Error, action: &'static str) -> PortError {
        match source.raw_os_error() {
            Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => PortError::Gone {
                name: self.name.clone(),
            },
            _ => failed(&self.name, action, source),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }
}

/// A socket that sends bursts, and the lists that tell the kernel where their bytes are.
#[derive(Debug)]
pub(super) struct Sender {
    socket: Socket,
    pieces: Box<[libc::iovec; Burst::CAPACITY]>,
    messages: Box<[libc::mmsghdr; Burst::CAPACITY]>,
}

// SAFETY: the pointers in the lists are written and used within one call of `send`, from the pool
// given then.
unsafe impl Send for Sender {}

impl Sender {
    pub(super) fn new(socket: Socket) -> Self {
        let piece = libc::iovec {
            iov_base: std::ptr::null_mut(),
            iov_len: 0,
        };
        // SAFETY: all-zero is a valid `mmsghdr`: null pointers and integers.
        let message: libc::mmsghdr = unsafe { MaybeUninit::zeroed().assume_init() };
        Self {
            socket,
            pieces: Box::new([piece; _]),
            messages: Box::new([message; _]),
        }
    }

    /// Lets so many bytes of frames be on their way at once.
    pub(super) fn room(&self, bytes: usize) -> Result<(), PortError> {
        self.socket.room(bytes)
    }

    /// Sends from the front of the burst; says how many frames the driver took.
    pub(super) fn send(&mut self, pool: &Pool, burst: &Burst) -> Result<usize, PortError> {
        let count = burst.len();
        for ((frame, piece), message) in burst
            .frames()
            .iter()
            .zip(&mut *self.pieces)
            .zip(&mut *self.messages)
        {
            let bytes = pool.bytes(frame);
            // The kernel only reads from it, although the type says it could write.
            *piece = libc::iovec {
                iov_base: bytes.as_ptr().cast_mut().cast(),
                iov_len: bytes.len(),
            };
            message.msg_hdr.msg_iov = piece;
            message.msg_hdr.msg_iovlen = 1;
        }
        let mut sent = 0;
        while sent < count {
            let (messages, left) = (&mut self.messages[sent..count], count - sent);
            // SAFETY: the first `left` messages each point to one piece, which points to the bytes
            // of a frame; `pool` and `self` stay borrowed until the call returns.
            let result = unsafe {
                libc::sendmmsg(
                    self.socket.as_raw_fd(),
                    messages.as_mut_ptr(),
                    left as u32,
                    libc::MSG_DONTWAIT as _,
                )
            };
            if let Ok(taken) = usize::try_from(result) {
                sent += taken;
                continue;
            }
            let source = io::Error::last_os_error();
            match source.raw_os_error() {
                Some(libc::EINTR) => {}
                // The driver is full, or this interface cannot carry the frame: the caller drops
                // the rest.
                Some(libc::ENOBUFS | libc::EAGAIN | libc::EMSGSIZE | libc::EINVAL) => break,
                _ => return Err(self.socket.classify(source, "send")),
            }
        }
        Ok(sent)
    }
}

fn failed(name: &str, action: &'static str, source: io::Error) -> PortError {
    PortError::System {
        name: name.to_owned(),
        action,
        source,
    }
}
