//! Reset needs the machine's clock: the event comes from another thread.

use tester::bench;
use tester::engine::Engine;
use tester::link::calibrated::{Calibrated, Settings};
use tester::profile::Profile;
use tester::result::Details;
use tester::trial::{Trial, Validity};

use crate::support::subject;

#[test]
fn reset_time_is_the_set_outage_by_both_methods() {
    let _alone = needs::cores();
    let device = Calibrated::new(Settings::default(), 2);
    let switch = device.switch();
    let mut rig = Engine::new(device, Vec::new(), 1518, 1e6, 1).unwrap();
    let profile = Profile {
        reset_seconds: (0.05, 0.35),
        reset_repeats: 2,
        ..Profile::QUICK
    };
    let mut run = || {
        crate::support::session(&mut rig, profile, |session| {
            bench::reset::run(
                session,
                &subject(),
                Some(2_000.0),
                "outage of 250 ms",
                &|| {
                    switch.off_for(250_000_000);
                },
            )
        })
    };
    // Others may have the core meanwhile: then once more, and once again. What nobody disturbed is
    // right.
    let near = |value: &f64| (value - 250.0).abs() <= 2.5;
    for _ in 0..3 {
        let entry = run();
        let Details::Reset(found) = &entry.details else {
            panic!("{:?} {}", entry.details, entry.because)
        };
        let right = found.by_loss_ms.iter().all(near) && found.by_silence_ms.iter().all(near);
        let valid = |trial: &Trial| trial.validity == Validity::Valid;
        if entry.trials.iter().all(valid) {
            assert!(right && found.by_loss_ms.len() == 2, "{found:?}");
            return;
        }
    }
    needs::skipped!("the machine is too busy for a trial of 0.4 s");
}
