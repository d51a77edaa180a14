//! Pools in memory that another process can map, for workers that are handed over to it.
//!
//! The memory is a file without a name (`memfd_create(2)`). Behind the buffers it has room for the
//! list of free ones. That is written when a worker is held ([`Pool::leave`]), and read by whoever
//! goes on in its place ([`Pool::take_up`]). In between nobody uses the pool, so the list needs no
//! care while frames pass. What is neither free nor lent to the kernel nor on a ring is lost to
//! the next owner.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use memmap2::{Advice, MmapOptions};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

use super::pieces::Link;
use super::{Layout, Pool};
use crate::PortError;

/// Bytes of a number in the list: how many there are, then each buffer.
const NUMBER: usize = size_of::<u32>();

impl Pool {
    /// As [`Pool::new`], and another process can go on with it. A kernel that has no such memory
    /// gives ordinary memory, which nobody else can have ([`Pool::file`]).
    ///
    /// # Errors
    /// As [`Pool::new`].
    pub fn shared(layout: Layout) -> Result<Self, PortError> {
        let Ok(file) = memfd_create("corelane-frames", MemfdFlags::CLOEXEC).map(File::from) else {
            return Self::new(layout);
        };
        let bytes = Self::bytes_with_list(layout)?;
        let sized = ftruncate(&file, bytes);
        sized.map_err(|error| Self::no_memory(bytes, error.into()))?;
        let mut pool = Self::received(layout, file)?;
        pool.free = (0..layout.buffers).rev().collect();
        Ok(pool)
    }

    /// The pool of another process, in this `file` of its. No buffer is free until [`Pool::take_up`].
    ///
    /// # Errors
    /// As [`Pool::new`].
    pub fn received(layout: Layout, file: File) -> Result<Self, PortError> {
        let bytes = Self::bytes_with_list(layout)?;
        let refuse = |source| Self::no_memory(bytes, source);
        // Who reads behind the end of a file is ended by a signal.
        if file.metadata().map_err(refuse)?.len() < bytes {
            return Err(refuse(io::ErrorKind::UnexpectedEof.into()));
        }
        let mut options = MmapOptions::new();
        let options = options.len(Self::bytes_of(layout)?).populate();
        let memory = options.map_raw(&file).map_err(refuse)?;
        // A refusal only costs speed.
        let _ignored = memory.advise(Advice::HugePage);
        Ok(Self {
            memory,
            file: Some(file),
            layout,
            free: Vec::with_capacity(layout.buffers as usize),
            links: vec![Link::NONE; layout.buffers as usize].into(),
            scattered: 0,
        })
    }

    fn bytes_with_list(layout: Layout) -> Result<u64, PortError> {
        let list = (1 + layout.buffers as usize) * NUMBER;
        Ok((Self::bytes_of(layout)? + list) as u64)
    }

    fn no_memory(bytes: u64, source: io::Error) -> PortError {
        let bytes = bytes as usize;
        PortError::Memory { bytes, source }
    }

    /// The memory, for another process; none when only this one can have it.
    pub fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// Writes down which buffers are free.
    ///
    /// # Errors
    /// When only this process can have the memory, and the system's.
    pub fn leave(&self) -> io::Result<()> {
        let file = self.file.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        file.write_all_at(&written(&self.free), self.memory.len() as u64)
    }

    /// The buffers that another process has left free are free here.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::InvalidData`] when it is no list of buffers of this pool.
    pub fn take_up(&mut self) -> io::Result<()> {
        let file = self.file.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let mut bytes = vec![0; (1 + self.layout.buffers as usize) * NUMBER];
        file.read_exact_at(&mut bytes, self.memory.len() as u64)?;
        let read = read(&bytes, self.layout.buffers);
        self.free = read.ok_or_else(|| {
            let what = "the list of free buffers is none of this pool";
            io::Error::new(io::ErrorKind::InvalidData, what)
        })?;
        Ok(())
    }
}

fn written(free: &[u32]) -> Vec<u8> {
    let count = free.len() as u32;
    let numbers = std::iter::once(&count).chain(free);
    numbers.flat_map(|number| number.to_le_bytes()).collect()
}

/// None when a buffer is named twice, or is none of so many.
fn read(bytes: &[u8], buffers: u32) -> Option<Vec<u32>> {
    let (numbers, _) = bytes.as_chunks::<NUMBER>();
    let mut numbers = numbers.iter().map(|bytes| u32::from_le_bytes(*bytes));
    let count = numbers.next()? as usize;
    let mut is_free = vec![false; buffers as usize];
    let mut free = Vec::with_capacity(buffers as usize);
    for number in numbers.take(count) {
        let seen = is_free.get_mut(number as usize)?;
        if std::mem::replace(seen, true) {
            return None;
        }
        free.push(number);
    }
    (free.len() == count).then_some(free)
}

#[cfg(test)]
#[path = "../../tests/unit/shared.rs"]
mod tests;
