//! Segments that pass whole: what a sender with offloads hands over is not cut on its way.

use super::lab::{Lab, is_root};

/// Frames and bytes that an interface of the router has sent, as the kernel counts: a segment is
/// one frame.
fn sent(lab: &Lab, interface: &str) -> [u64; 2] {
    let show = ["-s", "-j", "link", "show", interface];
    let output = lab.r.command("ip").args(show).output().unwrap();
    let links: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    ["packets", "bytes"].map(|unit| links[0]["stats64"]["tx"][unit].as_u64().unwrap())
}

#[test]
fn tcp_between_hosts_with_offloads_passes_in_whole_segments() {
    if !is_root() || !needs::program("iperf3") {
        return;
    }
    let lab = Lab::new();
    for address in ["10.1.0.2", "2001:db8:1::2"] {
        let router = lab.run(&["r0", "r1"], &["--engine", "tc"]);
        lab.wait_for_fast_path(&router, &[address]);
        let (before, forwarded) = (sent(&lab, "r1"), router.forwarded());
        lab.tcp(address);
        let (after, frames) = (sent(&lab, "r1"), router.forwarded() - forwarded);
        let (segments, bytes) = (after[0] - before[0], after[1] - before[1]);
        // iperf3 may end before all of its 20 MB is sent.
        assert!(bytes > 10_000_000, "{address}: {bytes} bytes");
        // As on a wire of an MTU of 1500, and acknowledgements.
        assert!(frames > bytes / 1500, "{address}: {frames} frames");
        assert!(segments < frames / 5, "{address}: {segments} segments");
        for reason in ["partial-checksum", "segments", "too-big", "no-headroom"] {
            assert_eq!(router.reason(reason), 0, "{address}: {reason}");
        }
    }
}
