//! Questions on the control socket: `cargo +nightly fuzz run questions`.

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

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ANSWERING.with_borrow_mut(|it| it.question(bytes)));
