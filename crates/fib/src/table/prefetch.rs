//! A hint to the processor.

/// Asks for the cache line that `target` begins in. Nothing happens where the processor has no such
/// instruction.
#[inline]
pub(super) fn prefetch<T>(target: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: prefetching reads nothing that the program can see, and SSE belongs to x86-64.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(target).cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = target;
}

/// Asks for the cache line that `target` begins in, for a store to it.
#[inline]
pub(super) fn prefetch_to_write<T>(target: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: as above; a processor without the instruction ignores it. Only as such is it made: without
    // a promise that the processor has it, the compiler makes a hint for a load of the intrinsic.
    unsafe {
        std::arch::asm!(
            "prefetchw [{}]",
            in(reg) std::ptr::from_ref(target),
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = target;
}
