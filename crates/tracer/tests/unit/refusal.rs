use super::*;

/// What is said when the kernel answers `code` on a system with these two files.
fn said(code: i32, lockdown: &str, root: bool) -> String {
    let directory = host::temporary::Directory::new("refusal").expect("a temporary directory");
    let system = System {
        lockdown: directory.path().join("lockdown"),
        paranoid: directory.path().join("paranoid"),
        ..System::default()
    };
    std::fs::write(&system.lockdown, lockdown).expect("a temporary file");
    std::fs::write(&system.paranoid, "3\n").expect("a temporary file");
    explain(&io::Error::from_raw_os_error(code), &system, root).to_string()
}

#[test]
fn every_refusal_names_its_remedy() {
    let open = "[none] integrity confidentiality";
    let locked = "none integrity [confidentiality]";
    for (code, lockdown, root, words) in [
        (
            libc::EACCES,
            open,
            false,
            "CAP_PERFMON and CAP_DAC_READ_SEARCH (kernel.perf_event_paranoid is 3)",
        ),
        (
            libc::EPERM,
            open,
            true,
            "a container or seccomp filter forbids perf_event_open",
        ),
        (libc::EPERM, locked, true, "lockdown=integrity or none"),
        (libc::EMFILE, open, true, "ulimit -n"),
        (libc::ENOSYS, open, true, "CONFIG_PERF_EVENTS"),
        (libc::ENODEV, open, true, "went offline"),
    ] {
        let said = said(code, lockdown, root);
        assert!(said.contains(words), "{code}: {said}");
    }
}
