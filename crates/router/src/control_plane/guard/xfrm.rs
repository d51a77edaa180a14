//! `IPsec` policies.

use std::io;

use host::netlink::{Message, Socket, XFRM, refused};

use super::known::State;
use super::{Finding, Scope, Treatment, is_absent, list};

const XFRM_MSG_NEWPOLICY: u16 = 0x13;
const XFRM_MSG_GETPOLICY: u16 = 0x15;
const XFRM_MSG_UPDPOLICY: u16 = 0x19;
const XFRM_MSG_GETDEFAULT: u16 = 0x28;
/// `XFRM_USERPOLICY_BLOCK`.
const BLOCK: u8 = 1;
/// The group that tells of changes.
pub(super) const XFRMNLGRP_POLICY: u32 = 4;
/// Size of `struct xfrm_userpolicy_id`.
const XFRM_POLICY_ID: usize = 64;

/// What is done to packets by `IPsec`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Policies {
    /// There are policies.
    any: bool,
    /// What has no policy is blocked.
    blocks: bool,
}

impl Policies {
    pub(super) fn read() -> io::Result<Self> {
        let listed = list(
            Some(XFRM),
            XFRM_MSG_GETPOLICY,
            &[0; XFRM_POLICY_ID],
            Self::take,
        )?;
        let mut policies = listed.unwrap_or_default();
        match policies.read_defaults() {
            // A kernel that does not know the question has no defaults.
            Err(error) if !is_absent(&error) => Err(error),
            _ => Ok(policies),
        }
    }

    fn read_defaults(&mut self) -> io::Result<()> {
        let mut socket = Socket::open(Some(XFRM), &[])?;
        let answer = socket.ask(XFRM_MSG_GETDEFAULT, 0, &[0; 3], |message| {
            let mut said = Self::default();
            said.take(message);
            match i32::from(message.kind) {
                libc::NLMSG_ERROR => refused(message.payload).map_or(Ok(said), Err),
                _ => Ok(said),
            }
        })??;
        self.join(answer);
        Ok(())
    }

    /// Takes in one message, of a dump or of what was added. The default is said in a
    /// `struct xfrm_userpolicy_default`: what becomes of packets in, forwarded and out that no
    /// policy is for.
    pub fn take(&mut self, message: Message<'_>) {
        match message.kind {
            XFRM_MSG_NEWPOLICY | XFRM_MSG_UPDPOLICY => self.any = true,
            XFRM_MSG_GETDEFAULT => {
                if let Some([_, forward, out]) = message.payload.first_chunk() {
                    self.blocks |= *forward == BLOCK || *out == BLOCK;
                }
            }
            _ => {}
        }
    }

    /// What of it forwarded packets pass.
    pub fn find(&self, found: &mut Vec<Finding>) {
        let said = [
            (self.any, "there are IPsec policies (ip xfrm policy)"),
            (
                self.blocks,
                "IPsec blocks what has no policy (ip xfrm policy getdefault)",
            ),
        ];
        for (_, what) in said.into_iter().filter(|(is_so, _)| *is_so) {
            found.push(Finding::new(Scope::All, what.to_owned(), Treatment::Ipsec));
        }
    }
}

impl State for Policies {
    fn hear(&mut self, message: Message<'_>) -> bool {
        self.take(message);
        true
    }

    fn join(&mut self, other: Self) {
        self.any |= other.any;
        self.blocks |= other.blocks;
    }
}
