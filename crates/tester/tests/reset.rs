//! Reset needs the machine's clock: the event comes from another thread.

use tester::bench;
use tester::engine::Engine;
use tester::link::calibrated::{Calibrated, Settings};
use tester::profile::Profile;
use tester::result::Details;

use crate::support::subject;

#[test]
fn reset_time_is_the_set_outage_by_both_methods() {
    let _alone = needs::cores();
    let device = Calibrated::new(Settings::default(), 2);
    let switch = device.switch();
    let mut rig = Engine::new(device, Vec::new(), 1518, 1e6, 1).unwrap();
    let profile = Profile {
        reset_seconds: (0.2, 0.6),
        ..Profile::QUICK
    };
    let entry = crate::support::session(&mut rig, profile, |session| {
        bench::reset::run(
            session,
            &subject(),
            Some(2_000.0),
            "outage of 250 ms",
            &|| {
                switch.off_for(250_000_000);
            },
        )
    });
    let Details::Reset(found) = entry.details else {
        panic!("{:?} {}", entry.details, entry.because)
    };
    assert!(!found.by_loss_ms.is_empty(), "{}", entry.because);
    let near = |values: &[f64]| values.iter().any(|value| (value - 250.0).abs() <= 2.5);
    assert!(
        near(&found.by_loss_ms) && near(&found.by_silence_ms),
        "{found:?}"
    );
}
