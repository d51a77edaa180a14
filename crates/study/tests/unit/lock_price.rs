use dut::kind::Kind;
use fib::TableOrganisation;

use super::*;
use crate::testing::calm;

/// The machine halves its pace in the second round; the lock takes 60 % of what is looked up one by
/// one, and giving up bursts had taken half before.
#[test]
fn the_lock_is_held_against_one_address_at_a_time_and_not_against_bursts() {
    let organisations = [
        (TableOrganisation::OneByOne, 10.0),
        (TableOrganisation::Locked, 4.0),
        (TableOrganisation::LockedPerCore, 8.0),
        (TableOrganisation::Shared, 20.0),
    ];
    let cases = organisations.map(|(organisation, _)| Case {
        kind: Kind::Memory(Some(organisation)),
        first: 0,
        workers: 2,
        frame_bytes: SMALLEST,
        changes: 0,
    });
    let mut rounds = Rounds::new(4, 1);
    for pace in [1.0, 0.5, 1.0] {
        let measured: Result<(), ()> =
            rounds.round_in(0..4, |place| Ok(calm(pace * organisations[place].1)));
        assert_eq!(measured, Ok(()));
    }
    let prices = LockPrice::all(&cases, &rounds, 1);
    let words: Vec<String> = prices.iter().map(LockPrice::in_words).collect();
    assert_eq!(
        words,
        ["40 % (40 to 40)", "80 % (80 to 80)", "200 % (200 to 200)"]
    );
    assert!(
        prices
            .iter()
            .all(|price| (price.rounds, price.key.workers) == (3, 2))
    );
}

#[test]
fn a_lock_that_seems_to_bring_frames_is_noise_unless_every_round_says_so() {
    let price = |organisation, share, low| LockPrice {
        key: Key::from(&Case {
            kind: Kind::Memory(Some(organisation)),
            first: 0,
            workers: 1,
            frame_bytes: SMALLEST,
            changes: 0,
        }),
        rounds: 11,
        share,
        low,
        high: share + 0.1,
        weak: None,
    };
    let told = |organisation, share, low| price(organisation, share, low).told().is_some();
    assert!(!told(TableOrganisation::Locked, 1.27, 0.94));
    assert!(!told(TableOrganisation::LockedPerCore, 1.01, 1.0));
    assert!(told(TableOrganisation::Locked, 1.27, 1.2));
    assert!(told(TableOrganisation::Locked, 0.98, 0.9));
    assert!(
        told(TableOrganisation::Shared, 1.05, 0.9),
        "bursts may bring frames"
    );
}
