use dut::kind::Kind;
use fib::TableOrganisation;

use super::*;

#[test]
fn a_row_is_median_low_and_high_of_its_rounds() {
    let case = Case {
        kind: Kind::Memory(Some(TableOrganisation::PerCore)),
        first: 0,
        workers: 2,
        frame_bytes: 64,
        changes: 0,
    };
    let row = Row::new(&case, &[3.0, 1.0, 2.0], 5, 6);
    assert_eq!(
        (row.frames_per_second.0, row.low.0, row.high.0),
        (2.0, 1.0, 3.0)
    );
    let json = serde_json::to_value(&row).unwrap();
    let expected = serde_json::json!({
        "engine": "memory", "table": "per-core", "workers": 2, "frame_bytes": 64, "routes": 5,
        "destinations": 6,
        "route_changes_per_second": 0, "frames_per_second": 2.0, "bits_per_second": 1024.0,
        "low": 1.0, "high": 3.0,
        "no_loss_frames_per_second": null
    });
    assert_eq!(json, expected);
}
