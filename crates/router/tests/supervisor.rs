use std::os::unix::net::UnixDatagram;
use std::process::Command;

use std::time::{Duration, Instant};

use router::management_plane::supervisor::Supervisor;

const NAME: &str = "supervisor::the_manager_hears_what_it_waits_for";
const SOCKET: &str = "NOTIFY_SOCKET";
const WATCHDOG: (&str, &str) = ("WATCHDOG_USEC", "10000000");

fn heard(manager: &UnixDatagram) -> String {
    let mut text = [0; 64];
    let length = manager.recv(&mut text).unwrap();
    String::from_utf8_lossy(&text[..length]).into_owned()
}

/// Runs itself again as a service, since the environment of a process is for all its threads.
#[test]
fn the_manager_hears_what_it_waits_for() {
    let name = match std::env::var_os(SOCKET) {
        Some(name) if std::env::var(WATCHDOG.0).as_deref() == Ok(WATCHDOG.1) => name,
        _ => {
            let directory = tempfile::tempdir().unwrap();
            let service = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", NAME])
                .env(SOCKET, directory.path().join("notify"))
                .env(WATCHDOG.0, WATCHDOG.1)
                .env_remove("WATCHDOG_PID")
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&service.stdout);
            assert!(
                service.status.success() && said.contains("1 passed"),
                "{said}"
            );
            return;
        }
    };
    let listening = UnixDatagram::bind(name).unwrap();
    listening
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    let now = Instant::now();
    let mut supervisor = Supervisor::from_environment(now);
    supervisor.ready();
    assert!(heard(&listening).starts_with("READY=1\n"));
    for (after, told) in [(0, true), (4, false), (6, true)] {
        supervisor.alive(now + Duration::from_secs(after));
        let mut text = [0; 64];
        assert_eq!(listening.recv(&mut text).is_ok(), told, "after {after} s");
    }
    supervisor.reloading();
    assert!(heard(&listening).starts_with("RELOADING=1\nMONOTONIC_USEC="));
    supervisor.stopping();
    assert_eq!(heard(&listening), "STOPPING=1\n");
}
