//! Processors whose registers User Mode Linux has no room for.

/// Bytes of extended state that the guest's kernel keeps (`HOST_FP_SIZE`,
/// `arch/x86/um/user-offsets.c`, Linux 6.1).
const ROOM: u32 = 2_696;

/// Whether programs under User Mode Linux lose the upper halves of vector registers on this
/// processor.
pub fn are_lost() -> bool {
    extended_state() > ROOM
}

/// Bytes of the extended state of all features that the system has enabled (leaf 13 of CPUID).
fn extended_state() -> u32 {
    #[cfg(target_arch = "x86_64")]
    return core::arch::x86_64::__cpuid_count(13, 0).ebx;
    #[cfg(not(target_arch = "x86_64"))]
    return 0;
}
