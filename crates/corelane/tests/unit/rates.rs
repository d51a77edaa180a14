//! Of `corelane/src/top/rates.rs`.

use std::time::Duration;

use serde_json::json;

use super::*;

fn snapshot(at: Instant, forwarded: u64, blackholes: u64) -> Snapshot {
    Snapshot {
        ports: json!([{
            "port": "r0", "index": 2, "state": "forwarding", "mode": "native",
            "received": forwarded + blackholes,
            "received_bytes": 60 * (forwarded + blackholes), "forwarded": forwarded,
            "forwarded_bytes": 60 * forwarded,
        }]),
        workers: json!([{
            "core": 1, "received": forwarded + blackholes, "forwarded": forwarded,
            "to_kernel": 0,
            "dropped": blackholes,
        }]),
        drops: json!([
            {
                "port": "r0", "reason": "ipv4-time-to-live", "fate": "to the kernel",
                "frames": 7
            },
            { "port": "r0", "reason": "blackhole", "fate": "dropped", "frames": blackholes },
        ]),
        engine: json!({
            "engine": "xdp", "resident_bytes": 1 << 20, "lag_seconds": 0.0005,
            "lag_max_seconds": 0.002,
            "messages": 1234, "resyncs": 1, "overruns": 0, "left_to_kernel": ["a rule"],
            "verification": { "equal": true, "compared": 5000, "different": 0 },
        }),
        hitters: json!({
            "seconds": 10.0, "every": 4, "samples": 1200, "frames_per_second": 480.0,
            "prefixes": [{
                "what": "203.0.113.0/24", "samples": 1000, "frames_per_second": 400.0,
                "low": 375.0, "high": 426.0, "bits_per_second": 192_000.0,
            }],
            "flows": [], "sources": [], "failed": null,
        }),
        at,
    }
}

#[test]
fn rates_are_differences_over_time() {
    let now = Instant::now();
    let before = snapshot(now, 1000, 10);
    let after = snapshot(now + Duration::from_secs(2), 5000, 30);
    let view = View::between(&before, &after);
    let value = serde_json::to_value(&view).unwrap();
    assert_eq!(value["ports"][0]["forwarded_frames_per_second"], 2000.0);
    assert_eq!(
        value["ports"][0]["forwarded_bits_per_second"],
        2000.0 * 480.0
    );
    assert_eq!(value["cores"][0]["dropped_frames_per_second"], 10.0);
    assert_eq!(
        value["reasons"][0]["reason"], "blackhole",
        "the busiest first"
    );
    let text = view.to_text();
    for part in [
        "mirror lag 0.50 ms (longest 2.00 ms), 1,234 announcements",
        "equal to the kernel in 5,000 answers",
        "left to the kernel: a rule",
        "2 k/s",
        "960 kbit/s",
        "by 1200 samples of 10 s, one frame in 4",
        "203.0.113.0/24",
        "426/s",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn a_counter_that_began_again_counts_from_zero() {
    let now = Instant::now();
    let before = snapshot(now, 1_000_000, 10);
    let after = snapshot(now + Duration::from_secs(1), 50, 0);
    let value = serde_json::to_value(View::between(&before, &after)).unwrap();
    assert_eq!(value["ports"][0]["forwarded_frames_per_second"], 50.0);
}
