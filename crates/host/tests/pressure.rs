//! Aggressors press.

use std::thread;
use std::time::Duration;

use host::allowed_cores;
use host::pressure::{Aggressor, Caches, Channel};

#[test]
fn every_channel_works_and_stops() {
    let core = allowed_cores().unwrap()[0];
    let caches = Caches {
        last: 1 << 20,
        second: 1 << 18,
    };
    for channel in Channel::ALL {
        let aggressor = Aggressor::start(channel, core, 0.5, caches);
        // Beside others it may wait for its core.
        let works = (0..250).any(|_| {
            thread::sleep(Duration::from_millis(20));
            aggressor.work() > 0
        });
        assert!(works, "{channel:?}");
    }
}
