//! A TCP connection, sent on as fast as it goes.

use std::io::{self, Read, Write};
use std::mem::size_of;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::counts::Counts;
use crate::error::Error;
use crate::site::Site;

/// Bytes given to the kernel in one call, and taken from it.
const CALL: usize = 128 << 10;
/// How long the other end may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) struct Connection {
    near: TcpStream,
    far: TcpStream,
}

impl Connection {
    /// Connects the hosts.
    pub(crate) fn open(site: &Site, flow: usize) -> Result<Self, Error> {
        let failed = |doing| {
            move |source| Error::Flow {
                flow,
                doing,
                source,
            }
        };
        let listen = || TcpListener::bind((Site::target(), 0));
        let listener = site.receiver().enter(listen)?.map_err(failed("listen"))?;
        let address: SocketAddr = listener.local_addr().map_err(failed("listen"))?;
        let connect = || TcpStream::connect_timeout(&address, PATIENCE);
        let near = site.sender().enter(connect)?.map_err(failed("connect"))?;
        let (far, _) = listener.accept().map_err(failed("accept"))?;
        Ok(Self { near, far })
    }

    pub(crate) fn send(&self, counts: &Counts, stop: &AtomicBool) -> io::Result<()> {
        let bytes = vec![0x5a; CALL];
        while !stop.load(Ordering::Relaxed) {
            counts.sent.add((&self.near).write(&bytes)? as u64);
        }
        Ok(())
    }

    pub(crate) fn receive(&self, counts: &Counts) -> io::Result<()> {
        let mut bytes = vec![0; CALL];
        loop {
            match (&self.far).read(&mut bytes)? {
                0 => return Ok(()),
                read => counts.arrived.add(read as u64),
            }
        }
    }

    /// Wakes both ends, whatever they wait for.
    pub(crate) fn end(&self) {
        // One that is closed already needs no waking.
        let _ = self.near.shutdown(Shutdown::Both);
        let _ = self.far.shutdown(Shutdown::Both);
    }

    /// Segments sent again (`tcpi_total_retrans` of `linux/tcp.h`); 0 where the kernel does not
    /// say.
    pub(crate) fn repeated(&self) -> u64 {
        // SAFETY: tcp_info is plain integers, for which all zeros is valid.
        let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
        let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes, the size of the record; on failure it
        // stays zero.
        unsafe {
            libc::getsockopt(
                self.near.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut info).cast(),
                &raw mut length,
            )
        };
        u64::from(info.tcpi_total_retrans)
    }
}
