//! Of `planes/src/page/verdict.rs`.

use super::*;

/// What five pairs say.
fn change(share: f64, low: f64, high: f64) -> Change {
    Change {
        share,
        low,
        high,
        pairs: 5,
    }
}

#[test]
fn a_sentence_says_no_more_than_the_pairs_of_searches() {
    for (change, says) in [
        (
            None,
            "what requests take of the user plane's throughput cannot be told",
        ),
        (
            Some(change(-0.33, -0.5, -0.1)),
            "requests take 33 % (10 to 50) of the user plane's throughput",
        ),
        (
            Some(change(-0.33, -0.5, 0.0)),
            "what requests change of the user plane's throughput is not clear (-50 to +0 %)",
        ),
        (
            Some(change(0.25, 0.1, 0.4)),
            "requests add 25 % (10 to 40) to the user plane's throughput",
        ),
    ] {
        assert_eq!(throughput(change), says);
    }
}
