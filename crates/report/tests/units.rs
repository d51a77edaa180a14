//! Units.

use report::units::{
    BitsPerSecond, Bytes, Frames, FramesPerSecond, Nanoseconds, Share, Times, compact,
};

#[test]
fn rates_keep_three_digits() {
    assert_eq!(FramesPerSecond(31_412_345.0).to_string(), "31.4 M frames/s");
    assert_eq!(FramesPerSecond(999_600.0).to_string(), "1.00 M frames/s");
    assert_eq!(FramesPerSecond(999.4).to_string(), "999 frames/s");
    assert_eq!(FramesPerSecond(0.0).to_string(), "0 frames/s");
    assert_eq!(BitsPerSecond(16.08e9).to_string(), "16.1 Gbit/s");
    assert_eq!(BitsPerSecond(12.0).to_string(), "12.0 bit/s");
}

#[test]
fn bits_follow_from_frames() {
    assert_eq!(
        FramesPerSecond(1_488_095.0).at(64),
        BitsPerSecond(761_904_640.0)
    );
}

#[test]
fn times_bytes_shares() {
    assert_eq!(Nanoseconds(999).to_string(), "999 ns");
    assert_eq!(Nanoseconds(1_500).to_string(), "1.50 µs");
    assert_eq!(Nanoseconds(12_300_000).to_string(), "12.3 ms");
    assert_eq!(Nanoseconds(61_000_000_000).to_string(), "61.0 s");
    assert_eq!(Bytes(512).to_string(), "512 B");
    assert_eq!(Bytes(4 << 20).to_string(), "4.00 MiB");
    assert_eq!(Share(0.0123).to_string(), "1.23 %");
    assert_eq!(Share(0.001).to_string(), "0.100 %");
    assert_eq!(Times(1.974).to_string(), "1.97×");
    assert_eq!(Frames(901_899).to_string(), "901,899");
}

#[test]
fn ticks_drop_useless_zeros() {
    assert_eq!(compact(1_500_000.0), "1.5 M");
    assert_eq!(compact(200.0), "200");
    assert_eq!(compact(100_000.0), "100 k");
    assert_eq!(compact(0.25), "0.25");
    assert_eq!(compact(0.0), "0");
}

#[test]
fn widths_apply() {
    assert_eq!(format!("{:>8}", Times(2.0)), "   2.00×");
}

#[test]
fn odd_numbers_have_text() {
    assert_eq!(FramesPerSecond(f64::NAN).to_string(), "- frames/s");
    assert_eq!(BitsPerSecond(f64::INFINITY).to_string(), "∞ bit/s");
}
