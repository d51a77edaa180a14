//! A flow of UDP datagrams whose sender waits for what is on its way.

use std::io::{self, ErrorKind};
use std::mem::size_of;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::counts::Counts;
use crate::error::Error;
use crate::load::{Load, Transfer};
use crate::site::Site;

/// `UDP_SEGMENT` and `UDP_GRO` of `linux/udp.h`.
const UDP_SEGMENT: libc::c_int = 103;
const UDP_GRO: libc::c_int = 104;
/// Segments that the kernel takes in one call (`UDP_MAX_SEGMENTS` of kernels before 6.9).
const SEGMENTS_MOST: usize = 64;
/// Bytes of payload that a UDP header can count.
const PAYLOAD_MOST: usize = 65_507;
/// Datagrams on their way at once, of all flows: half of what a socket's ring of `af-xdp` holds.
const WINDOW: usize = 1024;
/// Room for a flow's datagrams at its receiver, as the kernel counts it.
const RECEIVE_BUFFER: libc::c_int = 32 << 20;
/// Pause of a sender that waits.
const PAUSE: Duration = Duration::from_micros(20);
/// What has not arrived while nothing else did for so long does not come any more.
const PATIENCE: Duration = Duration::from_millis(20);
/// How long a receiver waits before it looks whether anything is to come.
const LOOK: Duration = Duration::from_millis(10);

pub(crate) struct Datagrams {
    near: UdpSocket,
    far: UdpSocket,
    /// Bytes of a call of the sender, in turn.
    calls: Vec<usize>,
    /// Bytes on their way, at most.
    window: u64,
}

impl Datagrams {
    /// Opens both sockets.
    pub(crate) fn open(site: &Site, transfer: Transfer, flow: usize) -> Result<Self, Error> {
        let failed = |doing| {
            move |source| Error::Flow {
                flow,
                doing,
                source,
            }
        };
        let receive = || UdpSocket::bind((Site::target(), 0));
        let far = site.receiver().enter(receive)?.map_err(failed("bind"))?;
        let address = far.local_addr().map_err(failed("bind"))?;
        let connect = || -> io::Result<UdpSocket> {
            let near = UdpSocket::bind(("0.0.0.0", 0))?;
            near.connect(address)?;
            Ok(near)
        };
        let near = site.sender().enter(connect)?.map_err(failed("connect"))?;
        set(&far, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, RECEIVE_BUFFER)
            .and_then(|()| far.set_read_timeout(Some(LOOK)))
            .map_err(failed("make room at the receiver"))?;

        let mut calls = transfer.load.payloads(site.mtu());
        let mean = calls.iter().sum::<usize>() / calls.len().max(1);
        if transfer.load == Load::Segments
            && let [segment] = &mut calls[..]
        {
            set(&near, libc::SOL_UDP, UDP_SEGMENT, length(*segment))
                .and_then(|()| set(&far, libc::SOL_UDP, UDP_GRO, 1))
                .map_err(failed("have UDP segmented"))?;
            *segment *= SEGMENTS_MOST.min(PAYLOAD_MOST / (*segment).max(1));
        }
        Ok(Self {
            near,
            far,
            calls,
            window: (WINDOW / transfer.flows.max(1) * mean) as u64,
        })
    }

    pub(crate) fn send(&self, counts: &Counts, stop: &AtomicBool) -> io::Result<()> {
        let bytes = vec![0x5a; self.calls.iter().copied().max().unwrap_or(0)];
        let mut given_up = 0;
        for &call in self.calls.iter().cycle() {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            given_up += self.wait_for_room(counts, given_up);
            match self.near.send(&bytes[..call]) {
                Ok(sent) => counts.sent.add(sent as u64),
                // The interface's queue is full.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits while the window is full; returns the bytes that will not come any more.
    fn wait_for_room(&self, counts: &Counts, given_up: u64) -> u64 {
        let away = || (counts.sent.get() - given_up).saturating_sub(counts.arrived.get());
        let mut since = (counts.arrived.get(), Instant::now());
        while away() >= self.window {
            thread::sleep(PAUSE);
            let arrived = counts.arrived.get();
            if arrived != since.0 {
                since = (arrived, Instant::now());
            } else if since.1.elapsed() > PATIENCE {
                return away();
            }
        }
        0
    }

    pub(crate) fn receive(&self, counts: &Counts) -> io::Result<()> {
        let mut bytes = vec![0; 1 << 16];
        loop {
            // Read before the socket: what was sent until then has had its time.
            let done = counts.done.load(Ordering::Acquire);
            match self.far.recv(&mut bytes) {
                Ok(read) => counts.arrived.add(read as u64),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock) => {
                    if done {
                        return Ok(());
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// A length as the kernel's options take it.
fn length(bytes: usize) -> libc::c_int {
    libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX)
}

/// Sets an option that is a number.
fn set(
    socket: &UdpSocket,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of `value`, which outlives the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            length,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
