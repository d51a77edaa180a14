//! Numbers with units are read as they are meant, and nonsense is not read.

use report::quantity::{any, bits_per_second, bytes, frames_per_second, nanoseconds, seconds};

type Read = fn(&str) -> Option<f64>;

#[test]
fn units_are_known() {
    let all: [(Read, &[(&str, f64)]); 6] = [
        (
            frames_per_second,
            &[("1.5 Mpps", 1.5e6), ("500k", 5e5), ("64000", 64e3)],
        ),
        (
            bits_per_second,
            &[("200M", 2e8), ("1.5Gbit/s", 1.5e9), ("64000", 64e3)],
        ),
        (
            nanoseconds,
            &[("50us", 5e4), ("50 µs", 5e4), ("30ms", 3e7), ("2s", 2e9)],
        ),
        (
            seconds,
            &[
                ("90", 90.0),
                ("1.5min", 90.0),
                ("200ms", 0.2),
                ("1h", 3600.0),
            ],
        ),
        (
            bytes,
            &[("256", 256.0), ("4MiB", 4_194_304.0), ("1.5kB", 1500.0)],
        ),
        (
            any,
            &[
                ("1.5 Mpps", 1.5e6),
                ("20us", 2e4),
                (" 0.1%", 1e-3),
                ("7", 7.0),
            ],
        ),
    ];
    for (read, examples) in all {
        for (text, value) in examples {
            let found = read(text).unwrap_or(f64::NAN);
            assert!((found - value).abs() <= 1e-9 * value, "{text}: {found}");
        }
    }
}

#[test]
fn nonsense_is_not_read() {
    let all: [Read; 6] = [
        frames_per_second,
        bits_per_second,
        nanoseconds,
        seconds,
        bytes,
        any,
    ];
    for read in all {
        for text in [
            "",
            "x",
            "-1",
            "-1us",
            "1 furlong",
            "inf",
            "NaN",
            "us",
            "1 k k",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
    assert_eq!(nanoseconds("50"), None, "a time without a unit is a guess");
    assert_eq!(bytes("1s"), None);
    assert_eq!(seconds("1MiB"), None);
}
