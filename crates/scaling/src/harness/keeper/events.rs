//! Events counted over a process tree.

use std::os::fd::{FromRawFd, OwnedFd};

/// Counters that follow this process and everything it starts (`perf_event_open(2)`, `inherit`).
pub(super) struct Events([Option<OwnedFd>; 3]);

impl Events {
    pub(super) const fn none() -> Self {
        Self([const { None }; 3])
    }

    /// Migrations, instructions, cycles; what the machine or its policy does not give stays closed.
    pub(super) fn open() -> Self {
        use perf_event_open_sys::bindings as perf;
        let kinds = [
            (
                perf::PERF_TYPE_SOFTWARE,
                u64::from(perf::PERF_COUNT_SW_CPU_MIGRATIONS),
            ),
            (
                perf::PERF_TYPE_HARDWARE,
                u64::from(perf::PERF_COUNT_HW_INSTRUCTIONS),
            ),
            (
                perf::PERF_TYPE_HARDWARE,
                u64::from(perf::PERF_COUNT_HW_CPU_CYCLES),
            ),
        ];
        Self(kinds.map(|(kind, config)| {
            let mut attributes = perf::perf_event_attr {
                type_: kind,
                config,
                ..Default::default()
            };
            attributes.size = size_of::<perf::perf_event_attr>() as u32;
            attributes.set_inherit(1);
            // SAFETY: the attributes are complete and alive during the call; pid 0 is this process.
            // A descriptor that is new belongs to nobody else.
            unsafe {
                let counter = perf_event_open_sys::perf_event_open(
                    &raw mut attributes,
                    0,
                    -1,
                    -1,
                    libc::c_ulong::from(perf::PERF_FLAG_FD_CLOEXEC),
                );
                (counter >= 0).then(|| OwnedFd::from_raw_fd(counter))
            }
        }))
    }

    pub(super) fn read(&self) -> [Option<u64>; 3] {
        self.0.each_ref().map(|counter| {
            // An event without read format answers with eight bytes.
            let mut value = [0_u8; 8];
            let count = rustix::io::read(counter.as_ref()?, &mut value).ok()?;
            (count == value.len()).then(|| u64::from_ne_bytes(value))
        })
    }
}
