//! Programs at tc where the kernel has no links for them (before Linux 6.6): a filter at the
//! discipline `clsact`.
//!
//! The kernel keeps a filter when the process ends that made it. So ours is a program of six
//! instructions, which jumps into the one that is to run by an array of programs. The kernel empties
//! such an array when the last descriptor of it is closed (`prog_array_map_clear` of
//! `kernel/bpf/arraymap.c`), however the process ends: the filter then jumps nowhere and has every
//! frame go on as if it were not there, and the program and its maps are gone.
//! [`attach::remove_left`](crate::attach::remove_left) removes what has stayed.
//!
//! The kernel chooses its place among other filters. The discipline stays: between a look whether it
//! is empty and its removal, another program may have come to rely on it. Without filters it does
//! nothing.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use host::netlink::{Message, ROUTE, Socket, append, attributes, number, refused, text};

use crate::sys::{self, Hook, Instruction, MapDefinition};

/// `TC_H_CLSACT`, and with `TC_H_MIN_INGRESS` where its frames arrive.
const CLSACT: u32 = 0xFFFF_FFF1;
const INGRESS: u32 = 0xFFFF_FFF2;
/// What its handle always is.
const CLSACT_HANDLE: u32 = 0xFFFF_0000;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_INGRESS_BLOCK: u16 = 13;
const TCA_BPF_FD: u16 = 6;
const TCA_BPF_NAME: u16 = 7;
const TCA_BPF_FLAGS: u16 = 8;
const TCA_BPF_FLAGS_GEN: u16 = 9;
/// `TCA_BPF_FLAG_ACT_DIRECT`: what the program says is what becomes of the frame.
const DIRECT: u32 = 1;
/// `TCA_CLS_FLAGS_SKIP_HW`.
const NOT_IN_HARDWARE: u32 = 1;
/// `ETH_P_ALL`, in network order.
const ALL_PROTOCOLS: u32 = (libc::ETH_P_ALL as u16).to_be() as u32;
const NEW: u16 = (libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;

/// What the names of our filters begin with; the program's own comes behind.
const OURS: &str = "corelane ";

/// A filter; dropping it removes it.
#[derive(Debug)]
pub(crate) struct Filter {
    at: Place,
    /// While somebody holds it, the filter jumps.
    #[cfg_attr(not(test), expect(dead_code, reason = "held"))]
    jump: OwnedFd,
}

/// Where a filter is: what the kernel needs to remove it.
#[derive(Clone, Copy, Debug)]
struct Place {
    ifindex: u32,
    handle: u32,
    /// Priority and protocol.
    information: u32,
}

impl Filter {
    /// Has `program`, of this name, see what arrives at an interface. The caller makes sure that
    /// no process has a filter of this name there: what has stayed of one is removed.
    pub(crate) fn new(program: BorrowedFd<'_>, name: &str, ifindex: u32) -> io::Result<Self> {
        make_discipline(ifindex)?;
        remove_left(name, ifindex)?;
        let (shell, jump) = shell(program)?;
        let mut options = Vec::new();
        let descriptor = shell.as_raw_fd() as u32;
        append(&mut options, TCA_BPF_FD, &descriptor.to_ne_bytes());
        let name = format!("{OURS}{name}\0");
        append(&mut options, TCA_BPF_NAME, name.as_bytes());
        append(&mut options, TCA_BPF_FLAGS, &DIRECT.to_ne_bytes());
        let flags = NOT_IN_HARDWARE.to_ne_bytes();
        append(&mut options, TCA_BPF_FLAGS_GEN, &flags);
        let mut body = header(ifindex, 0, INGRESS, ALL_PROTOCOLS);
        append(&mut body, TCA_KIND, b"bpf\0");
        append(&mut body, TCA_OPTIONS, &options);
        let mut socket = Socket::open(ROUTE, &[])?;
        // The answer is what was made, with its handle and priority.
        let flags = NEW | libc::NLM_F_ECHO as u16;
        let made = socket.ask(libc::RTM_NEWTFILTER, flags, &body, |message| {
            let place = Place::of(message);
            place.ok_or_else(|| {
                refused(message.payload).unwrap_or_else(|| io::ErrorKind::Other.into())
            })
        });
        Ok(Self { at: made??, jump })
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        // What stays jumps nowhere.
        let _stays = self.at.remove();
    }
}

impl Place {
    fn of(message: Message<'_>) -> Option<Self> {
        let is_filter = message.kind == libc::RTM_NEWTFILTER;
        let header = message.payload.first_chunk::<20>().filter(|_| is_filter)?;
        Some(Self {
            ifindex: number(&header[4..]),
            handle: number(&header[8..]),
            information: number(&header[16..]),
        })
    }

    fn remove(self) -> io::Result<()> {
        let mut body = header(self.ifindex, self.handle, INGRESS, self.information);
        append(&mut body, TCA_KIND, b"bpf\0");
        change(libc::RTM_DELTFILTER, 0, &body)
    }
}

/// The name of the program of a filter of ours, from the attributes of an announcement of kind
/// `bpf`; none of another's.
pub fn program_of<'a>(attributes_of: impl Iterator<Item = (u16, &'a [u8])>) -> Option<String> {
    let options = attributes_of.filter(|(kind, _)| *kind == TCA_OPTIONS);
    let mut options = options.flat_map(|(_, options)| attributes(options));
    let (_, name) = options.find(|(kind, _)| *kind == TCA_BPF_NAME)?;
    text(name).strip_prefix(OURS).map(str::to_owned)
}

/// Removes what has stayed at an interface of filters with the program `name`. The caller makes sure
/// that no process has one there.
pub(crate) fn remove_left(name: &str, ifindex: u32) -> io::Result<()> {
    let mut left = Vec::new();
    let mut socket = Socket::open(ROUTE, &[])?;
    let body = header(ifindex, 0, INGRESS, 0);
    socket.dump(libc::RTM_GETTFILTER, &body, |message| {
        let found = attributes(message.payload.get(20..).unwrap_or_default());
        if program_of(found).as_deref() == Some(name) {
            left.extend(Place::of(message));
        }
    })?;
    left.into_iter().try_for_each(Place::remove)
}

/// Makes the discipline that filters hang at, unless there is one.
fn make_discipline(ifindex: u32) -> io::Result<()> {
    let mut shares = false;
    let mut socket = Socket::open(ROUTE, &[])?;
    let all = header(0, 0, 0, 0);
    socket.dump(libc::RTM_GETQDISC, &all, |message| {
        let (header, rest) = message.payload.split_at_checked(20).unwrap_or_default();
        let is_it = header.len() == 20 && number(&header[4..]) == ifindex;
        shares |= is_it && attributes(rest).any(|(kind, _)| kind == TCA_INGRESS_BLOCK);
    })?;
    if shares {
        let why = "its filters are in a block that other interfaces may share (tc qdisc show)";
        return Err(io::Error::other(why));
    }
    let mut body = header(ifindex, CLSACT_HANDLE, CLSACT, 0);
    append(&mut body, TCA_KIND, b"clsact\0");
    match change(libc::RTM_NEWQDISC, NEW, &body) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        outcome => outcome,
    }
}

/// A program that jumps into `program` as long as what comes with it is open.
fn shell(program: BorrowedFd<'_>) -> io::Result<(OwnedFd, OwnedFd)> {
    const TAIL_CALL: i32 = 12;
    const TC_ACT_UNSPEC: i32 = -1;
    let one = MapDefinition {
        name: "jump".to_owned(),
        kind: sys::TYPE_PROGRAM_ARRAY,
        key_size: 4,
        value_size: 4,
        entries: 1,
        ..MapDefinition::default()
    };
    let jump = sys::map_create(&one, None, None)?;
    let instruction = |code, registers, immediate| Instruction {
        code,
        registers,
        offset: 0,
        immediate,
    };
    let instructions = [
        // r2 = jump; r1 is what is known of the frame.
        instruction(0x18, 0x12, jump.as_raw_fd()),
        instruction(0, 0, 0),
        instruction(0xb7, 3, 0),
        instruction(0x85, 0, TAIL_CALL),
        instruction(0xb7, 0, TC_ACT_UNSPEC),
        instruction(0x95, 0, 0),
    ];
    let license = "Dual MIT/GPL";
    let shell = sys::program_load(Hook::Tc, "corelane", &instructions, license, 0, 0, &mut [])?;
    let descriptor = (program.as_raw_fd() as u32).to_ne_bytes();
    sys::map_update(jump.as_fd(), &0_u32.to_ne_bytes(), &descriptor)?;
    Ok((shell, jump))
}

/// A `struct tcmsg`.
fn header(ifindex: u32, handle: u32, parent: u32, information: u32) -> Vec<u8> {
    let words = [0, ifindex, handle, parent, information];
    words.into_iter().flat_map(u32::to_ne_bytes).collect()
}

/// One change, and whether the kernel did it.
fn change(kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
    let mut socket = Socket::open(ROUTE, &[])?;
    let flags = flags | libc::NLM_F_ACK as u16;
    let refusal = socket.ask(kind, flags, body, |message| refused(message.payload))?;
    refusal.map_or(Ok(()), Err)
}

#[cfg(test)]
#[path = "../tests/unit/classifier.rs"]
mod tests;
