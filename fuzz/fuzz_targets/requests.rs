//! Questions on the control socket and requests for the metrics, as the first byte says: `cargo
//! +nightly fuzz run requests`.

#![no_main]

#[path = "../../crates/router/tests/recording.rs"]
mod recording;
#[path = "../../crates/router/tests/inputs/requests.rs"]
mod requests;

use std::cell::RefCell;

use requests::Answering;

thread_local! {
    static ANSWERING: RefCell<Answering> = RefCell::new(Answering::new());
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    ANSWERING.with_borrow_mut(|it| match bytes.split_first() {
        Some((choice, line)) if choice % 2 == 0 => it.question(line),
        Some((_, request)) => it.request(request),
        None => (),
    });
});
