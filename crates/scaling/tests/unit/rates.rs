use super::*;

#[test]
fn a_slow_round_cancels_out_of_the_speedup() {
    let rounds = Rates {
        cores: vec![1, 2],
        rates: vec![
            vec![1.0, 1.9],
            vec![0.5, 0.95],
            vec![1.1, 2.09],
            vec![0.25, 0.475],
        ],
    };
    let speedup = rounds.speedup(1, 1);
    assert!((speedup.value - 1.9).abs() < 1e-12);
    assert!(speedup.interval.high - speedup.interval.low < 1e-9);
}

#[test]
fn levelled_rounds_are_equally_fast_and_keep_their_ratios() {
    let rounds = Rates {
        cores: vec![1, 2],
        rates: vec![vec![1.0, 1.9], vec![0.5, 0.95], vec![0.8, 1.5]],
    };
    let levelled = rounds.levelled();
    assert!((levelled.rates[0][0] - levelled.rates[1][0]).abs() < 1e-12);
    for round in 0..3 {
        let before = rounds.ratios(1, 0)[round];
        assert!((levelled.ratios(1, 0)[round] - before).abs() < 1e-12);
    }
    assert_eq!(levelled.every_run().len(), 6);
}
