//! What a restricted thread may still ask of the kernel, and what becomes of it otherwise.

use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use router::system_calls::{ALLOWED, FATAL, restrict};
use rustix::process::{Resource, Rlimit, setrlimit};

#[test]
fn a_call_that_no_router_makes_is_refused_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (directory.path().join("a"), directory.path().join("b"));
    std::fs::write(&from, "a").unwrap();
    let rename = || std::fs::rename(&from, &to);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            restrict().unwrap();
            assert_eq!(rename().unwrap_err().kind(), ErrorKind::PermissionDenied);
            // What it starts has no more, and what it needs it has.
            let text = std::thread::scope(|scope| {
                scope
                    .spawn(|| rename().map_or_else(|_| std::fs::read(&from), |()| Ok(Vec::new())))
                    .join()
                    .unwrap()
            });
            assert_eq!(text.unwrap(), b"a");
        });
    });
    rename().unwrap();
}

#[test]
fn a_call_that_only_somebody_else_makes_ends_the_process() {
    const CHILD: &str = "CORELANE_TEST_FATAL";
    if std::env::var_os(CHILD).is_some() {
        let none = Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        // No file is left of it.
        setrlimit(Resource::Core, none).unwrap();
        restrict().unwrap();
        let _refused = std::env::set_current_dir("/");
        let _fatal = rustix::process::chroot("/");
        return;
    }
    let status = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "rights::a_call_that_only_somebody_else_makes_ends_the_process",
        ])
        .env(CHILD, "1")
        .status()
        .unwrap();
    assert_eq!(status.signal(), Some(libc::SIGSYS), "{status}");
    let allowed = |(_, call): &(_, i64)| ALLOWED.iter().any(|(_, other)| other == call);
    assert!(!FATAL.iter().any(allowed));
}
