//! Maps: typed access by key, and memory-mapped arrays that the program and we read and write
//! without a system call.

use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::{fs, io};

use memmap2::{MmapOptions, MmapRaw};

use crate::sys::{self, MapDefinition};
use crate::{Error, Result};

/// Plain data that may be copied to and from a map byte by byte.
///
/// # Safety
/// The type is `repr(C)` or a primitive, has no padding, and every bit pattern is a value of it.
pub unsafe trait Plain: Copy + Send + Sync + 'static {}

// SAFETY: primitives without padding; every bit pattern is a number.
unsafe impl Plain for u8 {}
// SAFETY: as above.
unsafe impl Plain for u16 {}
// SAFETY: as above.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for u64 {}
// SAFETY: an array adds no padding.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

fn bytes_of<T: Plain>(value: &T) -> &[u8] {
    // SAFETY: `Plain` types have no padding, so all their bytes are initialised.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

fn zeroed<T: Plain>() -> T {
    // SAFETY: every bit pattern is a value of a `Plain` type, so zeros are.
    unsafe { std::mem::zeroed() }
}

fn bytes_of_mut<T: Plain>(value: &mut T) -> &mut [u8] {
    // SAFETY: no padding to expose, and any bytes written are a value of the type.
    unsafe { std::slice::from_raw_parts_mut(std::ptr::from_mut(value).cast(), size_of::<T>()) }
}

/// A map in the kernel, shared by its programs and whoever holds a clone; it goes when the last one
/// lets go.
#[derive(Clone, Debug)]
pub struct Map {
    definition: Arc<MapDefinition>,
    descriptor: Arc<OwnedFd>,
}

impl Map {
    /// Creates it in the kernel; `types` is what the numbers of types in `definition` belong to.
    ///
    /// # Errors
    /// [`Error::CreateMap`].
    pub fn create(definition: MapDefinition, types: Option<BorrowedFd<'_>>) -> Result<Self> {
        let descriptor =
            sys::map_create(&definition, None, types).map_err(|error| Error::CreateMap {
                map: definition.name.clone(),
                bytes: u64::from(definition.value_size) * u64::from(definition.entries),
                error,
            })?;
        Ok(Self {
            definition: Arc::new(definition),
            descriptor: Arc::new(descriptor),
        })
    }

    /// One that another process has made, of which this is a descriptor.
    pub fn received(definition: MapDefinition, descriptor: OwnedFd) -> Self {
        Self {
            definition: Arc::new(definition),
            descriptor: Arc::new(descriptor),
        }
    }

    /// Sets an array's only value for good: programs and we can read it.
    pub(crate) fn freeze(&self, value: &[u8]) -> Result<()> {
        sys::map_update(self.as_fd(), &0_u32.to_ne_bytes(), value)
            .and_then(|()| sys::map_freeze(self.as_fd()))
            .map_err(self.failed("setting it for good"))
    }

    /// Shape and name.
    pub fn definition(&self) -> &MapDefinition {
        &self.definition
    }

    fn failed(&self, action: &'static str) -> impl FnOnce(io::Error) -> Error + use<> {
        let map = self.definition.name.clone();
        move |error| Error::Map { map, action, error }
    }

    fn shape<K>(&self, value_size: usize) -> Result<()> {
        if size_of::<K>() == self.definition.key_size as usize
            && value_size == self.definition.value_size as usize
        {
            return Ok(());
        }
        Err(Error::Object(format!(
            "map `{}` has keys of {} and values of {} bytes, not {} and {}",
            self.definition.name,
            self.definition.key_size,
            self.definition.value_size,
            size_of::<K>(),
            value_size,
        )))
    }

    /// Writes one element of an ordinary map.
    ///
    /// # Errors
    /// [`Error::Map`] with the kernel's answer; [`Error::Object`] when the types do not fit the
    /// map.
    pub fn set<K: Plain, V: Plain>(&self, key: K, value: &V) -> Result<()> {
        self.shape::<K>(size_of::<V>())?;
        sys::map_update(self.as_fd(), bytes_of(&key), bytes_of(value))
            .map_err(self.failed("writing an element"))
    }

    /// Reads one element of an ordinary map.
    ///
    /// # Errors
    /// As [`Map::set`].
    pub fn get<K: Plain, V: Plain>(&self, key: K) -> Result<V> {
        self.shape::<K>(size_of::<V>())?;
        let mut value = zeroed();
        sys::map_lookup(self.as_fd(), bytes_of(&key), bytes_of_mut(&mut value))
            .map_err(self.failed("reading an element"))?;
        Ok(value)
    }

    /// Removes one element; none there is fine.
    ///
    /// # Errors
    /// As [`Map::set`].
    pub fn remove<K: Plain>(&self, key: K) -> Result<()> {
        match sys::map_delete(self.as_fd(), bytes_of(&key)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            outcome => outcome.map_err(self.failed("removing an element")),
        }
    }

    /// Reads one element of a per-CPU map: a value for each possible CPU.
    ///
    /// # Errors
    /// As [`Map::set`].
    pub fn get_per_cpu<K: Plain, V: Plain>(&self, key: K) -> Result<Vec<V>> {
        self.shape::<K>(size_of::<V>())?;
        let stride = size_of::<V>().next_multiple_of(8);
        let mut bytes = vec![0_u8; stride * possible_cpus()?];
        sys::map_lookup(self.as_fd(), bytes_of(&key), &mut bytes)
            .map_err(self.failed("reading an element"))?;
        Ok(bytes
            .chunks_exact(stride)
            .map(|chunk| {
                let mut value = zeroed();
                bytes_of_mut(&mut value).copy_from_slice(&chunk[..size_of::<V>()]);
                value
            })
            .collect())
    }

    /// Sets one element of a per-CPU map to zero on every CPU.
    ///
    /// # Errors
    /// As [`Map::set`].
    pub fn clear_per_cpu<K: Plain>(&self, key: K) -> Result<()> {
        let stride = (self.definition.value_size as usize).next_multiple_of(8);
        let bytes = vec![0_u8; stride * possible_cpus()?];
        sys::map_update(self.as_fd(), bytes_of(&key), &bytes)
            .map_err(self.failed("clearing an element"))
    }

    /// Maps an array made with `BPF_F_MMAPABLE` into this process: all its values in a row.
    ///
    /// # Errors
    /// [`Error::Map`] with the kernel's answer; [`Error::Object`] when `T` does not divide the
    /// map's values.
    pub fn mapped<T: Plain>(&self) -> Result<MappedArray<T>> {
        let value_size = self.definition.value_size as usize;
        // The kernel rounds each value of an array up to 8 bytes.
        let stride = value_size.next_multiple_of(8);
        let bytes = stride * self.definition.entries as usize;
        let fits = size_of::<T>() == stride
            || size_of::<T>() > 0 && value_size == stride && stride.is_multiple_of(size_of::<T>());
        if !fits || align_of::<T>() > 4096 {
            return Err(Error::Object(format!(
                "map `{}`: an element of {} bytes does not fit its values, which lie {stride} \
                 bytes apart",
                self.definition.name,
                size_of::<T>()
            )));
        }
        let memory = MmapOptions::new()
            .len(bytes)
            .map_raw(&*self.descriptor)
            .map_err(self.failed("mapping into memory"))?;
        Ok(MappedArray {
            memory,
            length: bytes / size_of::<T>(),
            _map: self.clone(),
            element: PhantomData,
        })
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// The values of an array map as memory, shared with the programs that use it. Other CPUs read and
/// write it at any time, so it is reached by pointer (or by atomics made from it), never as a
/// slice.
#[derive(Debug)]
pub struct MappedArray<T> {
    memory: MmapRaw,
    length: usize,
    _map: Map,
    element: PhantomData<T>,
}

impl<T: Plain> MappedArray<T> {
    /// The first element; valid as long as this value lives.
    pub fn as_ptr(&self) -> *mut T {
        self.memory.as_mut_ptr().cast()
    }

    #[inline]
    fn at(&self, index: usize) -> *mut T {
        let length = self.length;
        assert!(index < length, "index {index} of {length} elements");
        // SAFETY: in range of the mapping.
        unsafe { self.as_ptr().add(index) }
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Never true: a map has at least one element.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Copies one element out; a program may change it meanwhile, so a value larger than a word can
    /// be a mixture of old and new.
    ///
    /// # Panics
    /// When `index` is out of range, like a slice.
    pub fn read(&self, index: usize) -> T {
        // SAFETY: in range of the mapping; volatile, because a program may write it; plain data, so
        // any mixture is a value.
        unsafe { self.at(index).read_volatile() }
    }

    /// Writes one element; a program that reads it meanwhile can see a mixture when it is larger
    /// than a word.
    ///
    /// # Panics
    /// When `index` is out of range, like a slice.
    pub fn write(&self, index: usize, value: T) {
        // SAFETY: as in `read`.
        unsafe { self.at(index).write_volatile(value) }
    }

    /// Copies bytes to where the element `index` begins, and on into the next ones; a program that
    /// reads them meanwhile can see a mixture.
    ///
    /// # Panics
    /// When they do not fit.
    pub fn copy_in(&self, index: usize, bytes: &[u8]) {
        let end = index * size_of::<T>() + bytes.len();
        assert!(
            end <= self.memory.len(),
            "{end} bytes of {}",
            self.memory.len()
        );
        let to: *mut u8 = self.at(index).cast();
        // SAFETY: in range of the mapping, which no slice of ours can overlap; bytes are a value of
        // plain data.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) }
    }

    /// Sets every byte to zero.
    pub fn clear(&self) {
        // SAFETY: the whole mapping is ours to write, and zeros are a value of plain data.
        unsafe { std::ptr::write_bytes(self.memory.as_mut_ptr(), 0, self.memory.len()) }
    }
}

/// Number of CPUs that the kernel keeps per-CPU values for (`/sys/devices/system/cpu/possible`).
///
/// # Errors
/// [`Error::Map`] when the file cannot be read or understood.
pub fn possible_cpus() -> Result<usize> {
    const PATH: &str = "/sys/devices/system/cpu/possible";
    let failed = |error| Error::Map {
        map: PATH.to_owned(),
        action: "counting CPUs",
        error,
    };
    let text = fs::read_to_string(PATH).map_err(failed)?;
    text.trim()
        .rsplit([',', '-'])
        .next()
        .and_then(|last| last.parse::<usize>().ok())
        .map(|last| last + 1)
        .ok_or_else(|| failed(io::Error::other(format!("unexpected content {text:?}"))))
}
