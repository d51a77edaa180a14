//! Threads of interfaces.

use host::allowed_cores;
use host::bed::{Bed, side};
use host::cores::allowed_to;
use host::favour::Rank;
use host::napi::{set_threaded, to_core};
use host::offload::Offload;

#[test]
fn an_interface_gets_threads_on_a_core_and_loses_them() {
    if !needs::root("to make network namespaces") {
        return;
    }
    let name = format!("n{}", std::process::id());
    let polled = side("napi", &name).switch(Offload::GenericReceive, true);
    let bed = Bed::plan()
        .cable(polled, side("napi", "other"))
        .lay()
        .unwrap();
    let namespace = bed.namespace("napi").unwrap();
    assert!(set_threaded(namespace, "zz", true).is_err());
    let core = *allowed_cores().unwrap().last().unwrap();
    let found = match to_core(namespace, &name, core, Rank::First(1), true) {
        Ok(found) => found,
        Err(error) => return needs::skipped!("{error}"),
    };
    assert_eq!(found.len(), 1);
    assert_eq!(allowed_to(found[0]).unwrap(), [core]);
    set_threaded(namespace, &name, false).unwrap();
}
