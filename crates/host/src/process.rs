//! Questions about processes.

use std::path::Path;

/// Whether this process acts as root.
pub fn is_root() -> bool {
    // SAFETY: geteuid takes nothing, touches nothing of ours and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Whether a process with this id exists (a zombie counts as dead: it will not clean up any more).
pub fn is_alive(pid: u32) -> bool {
    std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).is_ok_and(
        |stat| {
            !stat
                .rsplit(") ")
                .next()
                .is_some_and(|rest| rest.starts_with(['Z', 'X']))
        },
    )
}

/// The id of the process that owns a name of ours, `<prefix><pid>-…`; `None` when the name is not
/// of that form.
pub(crate) fn owner(name: &str, prefix: &str) -> Option<u32> {
    name.strip_prefix(prefix)?.split('-').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_live_and_nobody_has_the_highest_id() {
        assert!(is_alive(std::process::id()));
        assert!(!is_alive(u32::MAX));
    }

    #[test]
    fn owners_are_read_from_names() {
        assert_eq!(owner("cl-12-dut", "cl-"), Some(12));
        assert_eq!(owner("cl-x-dut", "cl-"), None);
        assert_eq!(owner("other-12-dut", "cl-"), None);
    }
}
