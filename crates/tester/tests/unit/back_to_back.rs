use super::*;

#[test]
fn the_worked_example() {
    // 10 Gbit/s, 64 bytes, 26 000 frames, throughput 90 % of the line.
    let line = 10e9 / (84.0 * 8.0);
    let (implied, corrected) = buffer_times(26_000.0, line, 0.9 * line);
    assert!((implied - 1.7472e-3).abs() < 1e-9, "{implied}");
    assert!((corrected - 0.174_72e-3).abs() < 1e-9, "{corrected}");
}
