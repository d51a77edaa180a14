//! Where the arrays live: a [`Region`] is a fixed number of elements somewhere in memory, and
//! whoever keeps it there.
//!
//! Two kinds: anonymous memory of this process (the pages appear when they are first touched, so a
//! generous capacity costs nothing; large regions ask for huge pages), and memory that the caller
//! mapped, such as a memory-mapped BPF array, so that the same bytes serve an eBPF program. A
//! region never moves and never grows: readers hold plain pointers into it.

use std::any::Any;
use std::sync::Arc;

/// Size of a huge page on the architectures we run on, in bytes.
const HUGE_PAGE: usize = 2 << 20;

/// An array of fixed length that several threads read while one writes, through atomics or by a
/// protocol of its own.
pub struct Region<T> {
    elements: *const T,
    length: usize,
    owner: Arc<dyn Any + Send + Sync>,
}

// SAFETY: a region is a shared slice; sending or sharing it is sharing `&T`, and the owner is Send
// and Sync.
unsafe impl<T: Sync> Send for Region<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Region<T> {}

impl<T> Clone for Region<T> {
    fn clone(&self) -> Self {
        Self {
            elements: self.elements,
            length: self.length,
            owner: Arc::clone(&self.owner),
        }
    }
}

impl<T> std::fmt::Debug for Region<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Region({} × {} bytes)", self.length, size_of::<T>())
    }
}

/// Memory could not be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no memory for an array of {bytes} bytes; lower the capacity or free memory")]
pub struct OutOfMemory {
    /// Size asked for.
    pub bytes: usize,
}

/// Element types for which zeroed memory is a valid, empty value.
///
/// # Safety
/// All-zero bytes must be a valid value of the type, and the type must not need dropping.
pub unsafe trait Zeroable {}

// SAFETY: integers, and atomics of the same layout, are valid when zero.
unsafe impl Zeroable for std::sync::atomic::AtomicU16 {}
// SAFETY: as above.
unsafe impl Zeroable for std::sync::atomic::AtomicU32 {}
// SAFETY: as above.
unsafe impl Zeroable for std::sync::atomic::AtomicU64 {}

impl<T: Zeroable> Region<T> {
    /// `length` zeroed elements in memory of this process.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn in_memory(length: usize) -> Result<Self, OutOfMemory> {
        let bytes = length
            .checked_mul(size_of::<T>())
            .ok_or(OutOfMemory { bytes: usize::MAX })?;
        let mapping = Mapping::new(bytes.max(1))?;
        Ok(Self {
            elements: mapping.first.cast(),
            length,
            owner: Arc::new(mapping),
        })
    }

    /// `length` elements that the caller mapped, kept mapped for as long as `owner` lives.
    ///
    /// # Safety
    /// `first` must be aligned for `T` and point to `length` valid elements that stay mapped while
    /// `owner` lives. Only the table or next-hop table that gets the region may write to them.
    pub unsafe fn from_mapped(
        first: *const T,
        length: usize,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        Self {
            elements: first,
            length,
            owner,
        }
    }
}

impl<T> Region<T> {
    /// The elements.
    #[inline]
    pub fn elements(&self) -> &[T] {
        // SAFETY: the constructor promised `length` valid elements for as long as the owner, which
        // `self` holds, lives.
        unsafe { std::slice::from_raw_parts(self.elements, self.length) }
    }

    /// Size of the whole region in bytes.
    pub fn bytes(&self) -> usize {
        self.length * size_of::<T>()
    }
}

/// Zeroed anonymous memory, given back on drop.
struct Mapping {
    first: *mut u8,
    bytes: usize,
}

// SAFETY: the mapping is only an address range; what is in it is reached through `Region`, which
// asks for `Sync`.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

#[cfg(not(miri))]
impl Mapping {
    fn new(bytes: usize) -> Result<Self, OutOfMemory> {
        let huge = bytes >= HUGE_PAGE / 2;
        // Over-allocate by one huge page, then cut both ends off, so that huge pages fit.
        let (bytes, spare) = if huge {
            (bytes.next_multiple_of(HUGE_PAGE), HUGE_PAGE)
        } else {
            (bytes, 0)
        };
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh anonymous mapping; no existing memory is named.
        let got = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes + spare,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                -1,
                0,
            )
        };
        if got == libc::MAP_FAILED {
            return Err(OutOfMemory { bytes });
        }
        let got = got.cast::<u8>();
        let before = if huge { got.align_offset(HUGE_PAGE) } else { 0 };
        let after = spare - before;
        // SAFETY: all three ranges lie within the mapping just made, and nobody else knows it.
        unsafe {
            let first = got.add(before);
            if before > 0 {
                libc::munmap(got.cast(), before);
            }
            if after > 0 {
                libc::munmap(first.add(bytes).cast(), after);
            }
            if huge {
                // A wish: without huge pages everything works, a little slower.
                libc::madvise(first.cast(), bytes, libc::MADV_HUGEPAGE);
            }
            Ok(Self { first, bytes })
        }
    }
}

#[cfg(not(miri))]
impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `new` and the last owner is going.
        unsafe { libc::munmap(self.first.cast(), self.bytes) };
    }
}

#[cfg(miri)]
impl Mapping {
    fn layout(bytes: usize) -> std::alloc::Layout {
        std::alloc::Layout::from_size_align(bytes, 64).expect("64 is a power of two")
    }

    fn new(bytes: usize) -> Result<Self, OutOfMemory> {
        // SAFETY: the size is not zero: `in_memory` asks for at least one byte.
        let first = unsafe { std::alloc::alloc_zeroed(Self::layout(bytes)) };
        if first.is_null() {
            Err(OutOfMemory { bytes })
        } else {
            Ok(Self { first, bytes })
        }
    }
}

#[cfg(miri)]
impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: allocated by `new` with the same layout.
        unsafe { std::alloc::dealloc(self.first, Self::layout(self.bytes)) };
    }
}
