use fastpath::forward::PortSettings;

use super::*;

#[test]
fn a_port_is_tried_again_after_pauses_that_grow_and_the_failure_is_said_once() {
    let mut port = Port {
        ifindex: 7,
        name: "r2".to_owned(),
        mtu: 1500,
        settings: PortSettings {
            enabled: true,
            ..PortSettings::default()
        },
    };
    let error = EngineError::new("attaching to port r2", "x ".repeat(9000));
    let mut failed = Failed::default();
    let mut now = Instant::now();
    assert!(!failed.waits(&port, now));
    for seconds in [1, 2, 4, 8, 16, 32, 64, 64] {
        failed.add(&port, &error, now);
        assert!(failed.waits(&port, now) && failed.due(now).is_empty());
        now += Duration::from_secs(seconds);
        assert!(!failed.waits(&port, now));
        assert_eq!(failed.due(now).len(), 1, "after {seconds} s");
    }
    let said = failed.next_unsaid().unwrap_err().to_string();
    assert!(said.contains("r2") && said.len() <= 300, "{said}");
    assert!(failed.next_unsaid().is_ok());
    // Another interface of the name has not failed, nor has one that is down.
    failed.add(&port, &error, now);
    port.ifindex = 8;
    assert!(!failed.waits(&port, now) && failed.list().is_empty());
    failed.add(&port, &error, now);
    port.settings.enabled = false;
    assert!(!failed.waits(&port, now) && failed.list().is_empty());
    // Left alone for a moment is no news.
    failed.succeeded(&port);
    failed.add(&port, &error, now);
    assert!(failed.next_unsaid().is_ok());
    port.settings.enabled = true;
    failed.succeeded(&port);
    failed.add(&port, &error, now);
    assert!(failed.next_unsaid().is_err());
    failed.forget("r2");
    port.settings.enabled = false;
    // One that failed before it was told how it is to be set up has done so until it is tried again.
    failed.add_at_start("lo", &error);
    (port.name, port.ifindex) = ("lo".to_owned(), 1);
    assert!(failed.waits(&port, Instant::now()) && !failed.list().is_empty());
    // What does not exist has not failed.
    failed.forget("lo");
    failed.add_at_start("nosuch", &error);
    assert!(failed.list().is_empty());
}
