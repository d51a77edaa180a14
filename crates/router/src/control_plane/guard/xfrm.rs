//! `IPsec` policies.

use std::io;

use host::netlink::{Socket, XFRM};

use super::{Finding, Scope, Treatment};

const XFRM_MSG_NEWPOLICY: u16 = 0x13;
const XFRM_MSG_GETPOLICY: u16 = 0x15;
const XFRMNLGRP_POLICY: u32 = 4;
/// Size of `struct xfrm_userpolicy_id`.
const XFRM_POLICY_ID: usize = 64;

/// A socket that is readable when policies changed.
pub(super) fn watch() -> io::Result<Socket> {
    Socket::open(Some(XFRM), &[XFRMNLGRP_POLICY])
}

pub(super) fn policies(found: &mut Vec<Finding>) {
    let Ok(mut socket) = Socket::open(Some(XFRM), &[]) else {
        return;
    };
    let mut policies = 0;
    let listed = socket.dump(XFRM_MSG_GETPOLICY, &[0; XFRM_POLICY_ID], |message| {
        policies += u32::from(message.kind == XFRM_MSG_NEWPOLICY);
    });
    if listed.is_ok() && policies > 0 {
        found.push(Finding {
            scope: Scope::All,
            what: format!("{policies} IPsec policies (ip xfrm policy)"),
            treatment: Treatment::Ipsec,
        });
    }
}
