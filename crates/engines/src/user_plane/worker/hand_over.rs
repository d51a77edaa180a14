//! A worker's memory and sockets go from one process to another, where one goes on in its place.

use std::fs::File;
use std::io;

use fib::organisation::Reader;
use port::pool::Layout;
use port::xsk::Handed;

use super::Worker;

/// What another process needs to go on in a worker's place.
#[derive(Debug)]
pub struct HandedWorker {
    /// How its memory is cut.
    pub layout: Layout,
    /// Its memory.
    pub memory: File,
    /// The sockets of each port, by its number.
    pub ports: Vec<(u32, Vec<Handed>)>,
}

impl<R: Reader> Worker<R> {
    /// What another process needs in its place.
    ///
    /// # Errors
    /// When none can have it, and when that is not so just now.
    pub fn hand_over(&self) -> io::Result<HandedWorker> {
        let memory = self.pool.file().ok_or_else(|| {
            let what = "its frames lie in memory that only this process can have";
            io::Error::new(io::ErrorKind::Unsupported, what)
        })?;
        let ports = self.ports.iter();
        let ports = ports.map(|attached| Ok((attached.number, attached.port.handed()?)));
        Ok(HandedWorker {
            layout: self.pool.layout(),
            memory: memory.try_clone()?,
            ports: ports.collect::<io::Result<_>>()?,
        })
    }

    /// Between two bursts: leaves its memory and its rings to whoever goes on with them.
    ///
    /// # Errors
    /// The system's.
    pub fn leave(&self) -> io::Result<()> {
        self.pool.leave()
    }

    /// Goes on with what another process has left.
    ///
    /// # Errors
    /// As [`port::Pool::take_up`].
    pub fn go_on(&mut self) -> io::Result<()> {
        self.pool.take_up()?;
        for attached in &mut self.ports {
            attached.port.go_on();
        }
        Ok(())
    }
}
