//! Where the words of a link live: the heap of one process, or a file or device that several map.

use std::fs::File;
use std::io;

use memmap2::{MmapOptions, MmapRaw};

use super::sync::{Arc, AtomicU64};

/// A fixed number of 64-bit words that two sides can reach. Cloning yields another handle to the
/// same words.
pub trait Memory: Clone + Send {
    /// How many words there are.
    fn len(&self) -> usize;

    /// Whether there are no words at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The word at `index`, which is below [`Memory::len`].
    fn word(&self, index: usize) -> &AtomicU64;
}

/// Words on the heap: two threads of one process.
#[derive(Clone)]
pub struct Heap(Arc<Vec<AtomicU64>>);

impl Heap {
    /// Zeroed memory of `words` 64-bit words.
    pub fn new(words: usize) -> Self {
        Self(Arc::new((0..words).map(|_| AtomicU64::new(0)).collect()))
    }
}

impl Memory for Heap {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        &self.0[index]
    }
}

/// A shared mapping of a file or of a device: two processes of one kernel (a file on tmpfs, a
/// memfd), or two kernels (`/dev/mmapper` inside a User Mode Linux guest, whose memory is a file of
/// the host; a PCI BAR of an ivshmem device).
#[derive(Clone)]
pub struct Mapping(Arc<MmapRaw>);

impl Mapping {
    /// Maps the first `bytes` of `file` (rounded down to whole words) for reading and writing.
    ///
    /// # Errors
    /// What `mmap` says; a file shorter than `bytes` is refused here, since touching memory behind
    /// its end would kill the process. Devices report no length and are taken at their word.
    pub fn of(file: &File, bytes: usize) -> io::Result<Self> {
        let metadata = file.metadata()?;
        if metadata.is_file() && metadata.len() < bytes as u64 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!(
                    "the file has {} bytes, {bytes} are to be mapped: set its length first",
                    metadata.len()
                ),
            ));
        }
        let mapped = MmapOptions::new().len(bytes).map_raw(file)?;
        Ok(Self(Arc::new(mapped)))
    }
}

impl Memory for Mapping {
    fn len(&self) -> usize {
        self.0.len() / 8
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < self.len(), "word {index} of {}", self.len());
        #[allow(clippy::cast_ptr_alignment, reason = "a mapping begins with a page")]
        let start = self.0.as_mut_ptr().cast::<AtomicU64>();
        // SAFETY: the index is inside the mapping, which is page aligned, lives as long as `self`,
        // and is only ever reached as atomics, so writes of another process are no data race.
        unsafe { &*start.add(index) }
    }
}
