//! Frames as they are: sent and received on a packet socket, and built byte by byte.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use host::namespace::Namespace;

use super::lab::Lab;

const ETH_P_ALL: u16 = 0x0003;
/// After so long without a frame none is taken to be on its way: a worker may wait for its core.
const QUIET: Duration = Duration::from_millis(100);
/// How long a frame that must come may take, on a machine however busy.
const PATIENCE: Duration = Duration::from_secs(20);
/// `SO_RCVBUFFORCE` bytes: no test has more waiting.
static BUFFER: libc::c_int = 16 << 20;

/// A packet socket on one interface.
pub(crate) struct Raw(OwnedFd);

impl Raw {
    /// Opens one inside a namespace; it stays there.
    pub(crate) fn open(namespace: &Namespace, interface: &str) -> Self {
        let index = namespace.interface_index(interface).unwrap();
        namespace.enter(|| Self::here(index).unwrap()).unwrap()
    }

    fn here(index: u32) -> io::Result<Self> {
        let check = |result: libc::c_int| {
            if result < 0 {
                Err(io::Error::last_os_error())
            } else {
                Ok(result)
            }
        };
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // No protocol: until it is bound, it would get the frames of every interface otherwise.
        // SAFETY: plain numbers.
        let raw = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        // SAFETY: just opened, ours alone.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        // SAFETY: all zeroes is a valid address.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = ETH_P_ALL.to_be();
        address.sll_ifindex = index.cast_signed();
        let size = size_of::<libc::sockaddr_ll>() as u32;
        // SAFETY: pointer and size are those of `address`.
        check(unsafe { libc::bind(raw, (&raw const address).cast(), size) })?;
        let timeout = libc::timeval {
            tv_sec: 0,
            tv_usec: QUIET.as_micros().try_into().unwrap(),
        };
        let size = size_of::<libc::timeval>() as u32;
        let place = (&raw const timeout).cast();
        // SAFETY: pointer and size are those of `timeout`.
        check(unsafe { libc::setsockopt(raw, libc::SOL_SOCKET, libc::SO_RCVTIMEO, place, size) })?;
        let place = (&raw const BUFFER).cast();
        // SAFETY: pointer and size are those of an integer.
        check(unsafe { libc::setsockopt(raw, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, place, 4) })?;
        Ok(Self(fd))
    }

    /// Frames go past the queueing discipline, to the queue of the core that sends.
    pub(crate) fn past_queueing(&self) {
        self.set_option(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1);
    }

    /// Sends a frame that stands for datagrams of UDP with so many bytes of data each, and whose sum
    /// is left to whoever cuts it up. `transport` says where UDP begins.
    pub(crate) fn send_segments(&self, frame: &[u8], transport: u16, size: u16) {
        // `struct virtio_net_hdr`: the sum is to be made, UDP_L4, lengths of headers and data, and where
        // the sum is.
        const NEEDS_SUM: u8 = 1;
        const UDP_SEGMENTS: u8 = 5;
        let numbers = [transport + 8, size, transport, 6];
        let numbers = numbers.map(u16::to_ne_bytes).concat();
        self.set_option(libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1);
        self.send(&[&[NEEDS_SUM, UDP_SEGMENTS], &numbers[..], frame].concat());
        self.set_option(libc::SOL_PACKET, libc::PACKET_VNET_HDR, 0);
    }

    fn set_option(&self, level: libc::c_int, name: libc::c_int, value: i32) {
        let socket = self.0.as_raw_fd();
        // SAFETY: pointer and size are those of an integer.
        let set = unsafe { libc::setsockopt(socket, level, name, (&raw const value).cast(), 4) };
        assert_eq!(set, 0, "{}", io::Error::last_os_error());
    }

    /// Sends a frame without FCS.
    pub(crate) fn send(&self, frame: &[u8]) {
        // SAFETY: pointer and length are those of `frame`.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        assert_eq!(
            sent,
            frame.len().cast_signed(),
            "{}",
            io::Error::last_os_error()
        );
    }

    /// The next frame, unless none comes for [`QUIET`]; the caller leaves out the socket's own.
    pub(crate) fn receive(&self) -> Option<Vec<u8>> {
        self.next(0)
    }

    /// The next frame, if one has come.
    pub(crate) fn waiting(&self) -> Option<Vec<u8>> {
        self.next(libc::MSG_DONTWAIT)
    }

    fn next(&self, flags: libc::c_int) -> Option<Vec<u8>> {
        let mut frame = vec![0; 16384];
        // SAFETY: pointer and length are those of `frame`.
        let length = unsafe {
            let place = frame.as_mut_ptr().cast();
            libc::recv(self.0.as_raw_fd(), place, frame.len(), flags)
        };
        frame.truncate(usize::try_from(length).ok()?);
        Some(frame)
    }

    /// The first frame for which `wanted` holds, unless it never comes.
    pub(crate) fn wait_for(&self, wanted: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
        self.within(PATIENCE, wanted)
    }

    /// The first frame for which `wanted` holds, within so long.
    pub(crate) fn within(
        &self,
        longest: Duration,
        wanted: impl Fn(&[u8]) -> bool,
    ) -> Option<Vec<u8>> {
        let end = Instant::now() + longest;
        while Instant::now() < end {
            if let Some(frame) = self.receive().filter(|frame| wanted(frame)) {
                return Some(frame);
            }
        }
        None
    }
}

/// The wires on both sides of the router, and the Ethernet addresses of frames that enter it.
pub(crate) struct Wires {
    pub(crate) a: Raw,
    pub(crate) b: Raw,
    pub(crate) macs: ([u8; 6], [u8; 6]),
}

impl Wires {
    pub(crate) fn open(lab: &Lab) -> Self {
        Self {
            a: Raw::open(&lab.a, "e0"),
            b: Raw::open(&lab.b, "e1"),
            macs: (mac(&lab.r, "r0"), mac(&lab.a, "e0")),
        }
    }
}

/// The Ethernet address of an interface.
pub(crate) fn mac(namespace: &Namespace, interface: &str) -> [u8; 6] {
    let path = format!("/sys/class/net/{interface}/address");
    let output = namespace.command("cat").arg(path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let bytes: Vec<u8> = text
        .trim()
        .split(':')
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect();
    bytes.try_into().unwrap()
}

/// The Internet checksum (RFC 1071) over `bytes`, as it is written.
pub(crate) fn checksum(bytes: &[u8]) -> [u8; 2] {
    let mut sum: u32 = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)))
        .sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

fn udp(source: &[u8], destination: &[u8], port: u16, payload: &[u8]) -> Vec<u8> {
    let length = ((8 + payload.len()) as u16).to_be_bytes();
    let mut segment = Vec::from(4242u16.to_be_bytes());
    segment.extend(port.to_be_bytes());
    segment.extend(length);
    segment.extend([0, 0]);
    segment.extend(payload);
    let mut summed = [source, destination, &[0, 17], &length].concat();
    summed.extend(&segment);
    segment[6..8].copy_from_slice(&checksum(&summed));
    segment
}

/// A UDP packet in IPv4 in Ethernet, with every field set to something that is not its default.
pub(crate) fn ipv4(
    macs: ([u8; 6], [u8; 6]),
    source: [u8; 4],
    destination: [u8; 4],
    port: u16,
    payload: &[u8],
) -> Vec<u8> {
    let mut frame = [&macs.0[..], &macs.1, &[0x08, 0x00]].concat();
    let length = ((28 + payload.len()) as u16).to_be_bytes();
    let mut header = [
        0x45, 0xB8, length[0], length[1], 0x12, 0x34, 0x40, 0, 57, 17, 0, 0,
    ]
    .to_vec();
    header.extend(source);
    header.extend(destination);
    let sum = checksum(&header);
    header[10..12].copy_from_slice(&sum);
    frame.extend(header);
    frame.extend(udp(&source, &destination, port, payload));
    frame
}

/// The same in IPv6, with traffic class and flow label.
pub(crate) fn ipv6(
    macs: ([u8; 6], [u8; 6]),
    source: &str,
    destination: &str,
    payload: &[u8],
) -> Vec<u8> {
    let octets = |text: &str| text.parse::<std::net::Ipv6Addr>().unwrap().octets();
    let (source, destination) = (octets(source), octets(destination));
    let mut frame = [&macs.0[..], &macs.1, &[0x86, 0xDD]].concat();
    let length = ((8 + payload.len()) as u16).to_be_bytes();
    frame.extend([0x6B, 0x81, 0x23, 0x45, length[0], length[1], 17, 9]);
    frame.extend(source);
    frame.extend(destination);
    frame.extend(udp(&source, &destination, 9, payload));
    frame
}
