//! Of `src/notice.rs`.

use super::*;

#[test]
fn a_line_counts_when_it_is_about_the_nodes_session_or_route() {
    let at = Some(1_795_709_296_418_379_000);
    for (line, node, expected) in [
        (
            "1795709296 418379 <TRACE> node1: State changed to stop",
            1,
            at,
        ),
        (
            "1795709296 418379 <TRACE> node1: State changed to stop",
            2,
            None,
        ),
        (
            "1795709296 418379 <TRACE> node1: State changed to stop",
            11,
            None,
        ),
        (
            "1795709296 418379 <TRACE> node1.ipv4 > removed [sole] 203.0.113.0/24 0L",
            1,
            at,
        ),
        (
            "1795709296 418379 <TRACE> node1.ipv4 > added [best] 100.64.0.0/24 0L",
            1,
            None,
        ),
        (
            "1795709296 418379 <RMT> bfd1: Bad packet from 198.18.1.2",
            1,
            None,
        ),
        (
            "2026/11/26 16:08:16.418379 BGP: [PX] %ADJCHANGE: neighbor 198.18.1.2(node1) Down",
            1,
            at,
        ),
        (
            "2026/11/26 16:08:16.418379 BGP: [PX] 198.18.1.2(node1) rcvd 203.0.113.0/24 IPv4",
            1,
            at,
        ),
        (
            "2026/11/26 16:08:16.418379 BGP: [PX] 198.18.1.2(node1) rcvd 203.0.113.0/24 IPv4",
            2,
            None,
        ),
        ("BIRD started", 1, None),
        ("", 1, None),
    ] {
        assert_eq!(about(line, node), expected, "{line}");
    }
}

#[test]
fn a_session_that_goes_down_counts_unless_it_is_the_events() {
    let bird = "1795709296 418379 <TRACE> node12: State changed to stop";
    let frr =
        "2026/11/26 16:08:16.418379 BGP: [PX] %ADJCHANGE: neighbor 198.18.12.2(node12) Down BFD";
    for line in [bird, frr] {
        assert!(is_down(line, None) && is_down(line, Some(1)), "{line}");
        assert!(!is_down(line, Some(12)), "{line}");
        assert_eq!(written(line), Some(1_795_709_296_418_379_000));
    }
    for line in [
        "1795709296 418379 <TRACE> node1: State changed to up",
        "1795709296 418379 <TRACE> kernel1: State changed to stop",
        "2026/11/26 16:08:16.418379 BGP: [PX] %ADJCHANGE: neighbor 198.18.1.2(node1) Up",
        "",
    ] {
        assert!(!is_down(line, None), "{line}");
    }
}
