//! Of `dut/src/tally.rs`.

use tester::trial::Counts;
use tester::veth::lanes::Losses;

use super::*;

fn carried(sent: u64, losses: Losses) -> Carried {
    let lost = losses.to_device + losses.in_device + losses.from_device;
    Carried {
        frames_per_second: 1e6,
        counted: host::counting::Counting::default(),
        counts: Counts {
            intended: sent,
            sent,
            received: sent - lost,
            arrivals: sent - lost,
            lost,
            ..Counts::default()
        },
        losses,
        validity: Validity::Valid,
    }
}

#[test]
fn places_and_reasons_are_named_and_sum_up() {
    let mut tally = Tally::default();
    tally.add(&carried(10_000, Losses::default())).unwrap();
    assert_eq!(tally.sentence(), "Of 10,000 frames sent none was lost.");
    let losses = Losses {
        to_device: 3,
        in_device: 1_200,
        from_device: 0,
    };
    tally.add(&carried(10_000, losses)).unwrap();
    assert_eq!(
        tally.sentence(),
        "Of 20,000 frames sent 1,203 were lost: 3 in front of the device, whose queue was \
         full; 1,200 in the device."
    );
    tally.explain("ring-full", 1_100);
    tally.explain("no-route", 0);
    assert!(
        tally
            .sentence()
            .ends_with("it says itself: ring-full 1,100; which leaves 100 that nothing explains.")
    );
    tally.explain("no-route", 100);
    assert!(
        tally
            .sentence()
            .ends_with("it says itself: no-route 100, ring-full 1,100.")
    );
}

#[test]
fn what_does_not_close_is_no_figure() {
    let mut broken = carried(10, Losses::default());
    broken.validity = Validity::Invalid("the counts do not close".to_owned());
    assert!(Tally::default().add(&broken).is_err());
}
