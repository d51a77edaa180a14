//! What this processor has, so that peers are compiled for it as our search is.

/// Population count, and shifts by a register.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_bmi2() -> bool {
    std::is_x86_feature_detected!("bmi2")
        && std::is_x86_feature_detected!("bmi1")
        && std::is_x86_feature_detected!("popcnt")
}

/// Comparisons of eight 64-bit words at once.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx512() -> bool {
    std::is_x86_feature_detected!("avx512f") && has_bmi2()
}
