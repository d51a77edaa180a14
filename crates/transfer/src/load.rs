//! What is sent.

/// How payload becomes packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// TCP connections, each as fast as it goes.
    Tcp,
    /// UDP, handed to the kernel up to 64 segments at once (`UDP_SEGMENT`) and taken from it the
    /// same way (`UDP_GRO`); each segment fills the MTU.
    Segments,
    /// UDP, a datagram a call, of frames of these sizes in turn, bytes with FCS.
    Mix(&'static [u16]),
}

/// What is transferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// How.
    pub load: Load,
    /// By how many flows.
    pub flows: usize,
}

/// Bytes of a frame that are no payload of UDP: Ethernet's header and FCS, IPv4's and UDP's
/// headers.
pub const FRAME_OVERHEAD: u16 = 14 + 4 + PACKET_OVERHEAD;
/// Bytes of a packet that are no payload of UDP: IPv4's header without options and UDP's.
pub(crate) const PACKET_OVERHEAD: u16 = 20 + 8;

impl Load {
    /// Bytes of payload of the datagrams, in turn; none for TCP, whose segments are the kernel's.
    pub(crate) fn payloads(self, mtu: u16) -> Vec<usize> {
        match self {
            Self::Tcp => Vec::new(),
            Self::Segments => vec![usize::from(mtu.saturating_sub(PACKET_OVERHEAD))],
            Self::Mix(frames) => frames
                .iter()
                .map(|frame| usize::from(frame.saturating_sub(FRAME_OVERHEAD)))
                .collect(),
        }
    }

    /// Bits at layer 2, with FCS, for each bit of payload; `None` for TCP, whose frames are the
    /// kernel's to size.
    pub(crate) fn layer_2_share(self, mtu: u16) -> Option<f64> {
        let payloads = self.payloads(mtu);
        let payload: usize = payloads.iter().sum();
        let overhead = payloads.len() * usize::from(FRAME_OVERHEAD);
        (payload > 0).then(|| (payload + overhead) as f64 / payload as f64)
    }
}

#[cfg(test)]
#[path = "../tests/unit/load.rs"]
mod tests;
