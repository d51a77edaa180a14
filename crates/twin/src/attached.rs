//! Programs that somebody else has at tc (tcx): `tcx r1 egress drop4` in a case. They go with
//! whoever holds their link.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use bpf::sys::{Hook, Instruction, link_create, program_load};

/// What programs drop: their name, the type of frames, where these have the first half of their
/// destination, and that half.
const DROPS: [(&str, i32, i32, i32); 2] =
    [("drop4", 0x0800, 30, 0xc612), ("drop6", 0x86dd, 38, 0x2001)];
/// What becomes of other frames: the next program's, or, with `pass`, of nobody else here
/// (`enum tcx_action_base`).
const NEXT: i32 = -1;
const PASS: i32 = 0;
const DROP: i32 = 2;

/// Does what a command says, in the calling thread's namespace.
pub(crate) fn attach(command: &str) -> io::Result<OwnedFd> {
    let mut words = command.split(' ').skip(1);
    let mut word = || words.next().unwrap_or_default();
    let (link, side, name) = (word(), word(), word());
    let hook = match side {
        "egress" => Hook::TcEgress,
        _ => Hook::Tc,
    };
    let program = program(name).map(|(code, registers, offset, immediate)| Instruction {
        code,
        registers,
        offset,
        immediate,
    });
    let loaded = program_load(hook, name, &program, "MIT", 0, 0, &mut [])?;
    link_create(hook, loaded.as_fd(), host::namespace::index_of(link)?, 0)
}

fn program(name: &str) -> [(u8, u8, i16, i32); 9] {
    let drops = DROPS.iter().find(|(known, ..)| *known == name);
    let (_, kind, at, half) = drops.copied().unwrap_or(("", -1, 0, 0));
    let otherwise = if drops.is_some() { NEXT } else { PASS };
    [
        // Register 6 is the frame, 0 a half word of it; a frame that is shorter is passed on.
        (0xbf, 0x16, 0, 0),
        (0x28, 0, 0, 12),
        (0x55, 0, 4, kind),
        (0x28, 0, 0, at),
        (0x55, 0, 2, half),
        (0xb7, 0, 0, DROP),
        (0x95, 0, 0, 0),
        (0xb7, 0, 0, otherwise),
        (0x95, 0, 0, 0),
    ]
}

/// How a command's effect can be had without this harness.
pub(crate) fn by_hand(command: &str) -> Option<String> {
    let [link, side, name] = command.strip_prefix("tcx ")?.split(' ').collect::<Vec<_>>()[..]
    else {
        return None;
    };
    let code = DROPS.iter().find(|(known, ..)| *known == name).map_or_else(
        || "1,6 0 0 0".to_owned(),
        |(_, kind, at, half)| {
            format!("6,40 0 0 12,21 0 3 {kind},40 0 0 {at},21 0 1 {half},6 0 0 2,6 0 0 4294967295")
        },
    );
    Some(format!(
        "{command}: as by tc qdisc add dev {link} clsact; tc filter add dev {link} {side} bpf da \
         bytecode \"{code}\". But at tcx: bpftool net attach tcx_{side} pinned PROGRAM dev {link}"
    ))
}
