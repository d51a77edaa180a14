//! `IPsec` policies.

use std::io;

use host::netlink::{Message, Socket, XFRM};

use super::{Finding, Scope, Treatment, list, unread};

const XFRM_MSG_NEWPOLICY: u16 = 0x13;
const XFRM_MSG_GETPOLICY: u16 = 0x15;
const XFRM_MSG_GETDEFAULT: u16 = 0x28;
/// `XFRM_USERPOLICY_BLOCK`.
const BLOCK: u8 = 1;
const XFRMNLGRP_POLICY: u32 = 4;
/// Size of `struct xfrm_userpolicy_id`.
const XFRM_POLICY_ID: usize = 64;

/// A socket that is readable when policies changed.
pub(super) fn watch() -> io::Result<Socket> {
    Socket::open(Some(XFRM), &[XFRMNLGRP_POLICY])
}

pub(super) fn look(found: &mut Vec<Finding>) {
    let count = |policies: &mut u32, message: Message<'_>| {
        *policies += u32::from(message.kind == XFRM_MSG_NEWPOLICY);
    };
    let listed = list(Some(XFRM), XFRM_MSG_GETPOLICY, &[0; XFRM_POLICY_ID], count);
    let of_all = |what| Finding::new(Scope::All, what, Treatment::Ipsec);
    match listed {
        Ok(None | Some(0)) => {}
        Ok(Some(policies)) => {
            found.push(of_all(format!(
                "{policies} IPsec policies (ip xfrm policy)"
            )));
        }
        Err(error) => found.push(unread("IPsec policies", &error, Treatment::Ipsec)),
    }
    // A kernel that does not answer has no defaults.
    if let Ok([_, forward, out]) = defaults()
        && (forward == BLOCK || out == BLOCK)
    {
        let what = "IPsec blocks what has no policy (ip xfrm policy getdefault)";
        found.push(of_all(what.to_owned()));
    }
}

/// `struct xfrm_userpolicy_default`: what becomes of packets in, forwarded and out that no policy
/// is for.
fn defaults() -> io::Result<[u8; 3]> {
    let mut socket = Socket::open(Some(XFRM), &[])?;
    socket.ask(XFRM_MSG_GETDEFAULT, 0, &[0; 3], |message| {
        if message.kind != XFRM_MSG_GETDEFAULT {
            return [0; 3];
        }
        message.payload.first_chunk().copied().unwrap_or_default()
    })
}
