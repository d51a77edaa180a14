//! Settings of links: what the kernel announces is heard, and the thread that reads them reads at
//! once when it is wanted.

use std::time::{Duration, Instant};

use host::bed::{Bed, side};
use router::control_plane::reader::Reader;
use router::control_plane::settings::Changes;
use rustix::event::{PollFd, PollFlags, poll};

#[test]
fn forwarding_and_validation_are_announced_of_each_interface_and_of_all() {
    if !needs::root("for network namespaces") {
        return;
    }
    let plan = Bed::plan()
        .forwarding("r")
        .cable(side("r", "r0"), side("a", "e0"))
        .cable(side("r", "r1"), side("a", "e1"));
    let bed = plan.lay().unwrap();
    let r = bed.namespace("r").unwrap();
    let mut changes = r.enter(Changes::listen).unwrap().unwrap();
    let r0 = bed.end("r", "r0").unwrap().index;
    let mut heard = |key: &str, value: &str| {
        r.set(key, value).unwrap();
        changes.concern(|index| index == r0)
    };
    for (key, values) in [
        ("net.ipv4.conf.r0.forwarding", ["0", "1"]),
        ("net.ipv4.conf.r0.rp_filter", ["1", "2"]),
        ("net.ipv4.conf.all.rp_filter", ["1", "0"]),
        ("net.ipv6.conf.all.forwarding", ["0", "1"]),
        ("net.ipv4.ip_forward", ["0", "1"]),
    ] {
        for value in values {
            assert!(heard(key, value), "{key}={value}");
        }
    }
    for key in [
        "net.ipv4.conf.r1.forwarding",
        "net.ipv4.conf.default.rp_filter",
    ] {
        assert!(!heard(key, "0") && !heard(key, "1"), "{key}");
    }
}

fn answer(reader: &mut Reader<u32, u32>) -> u32 {
    poll(&mut [PollFd::new(&*reader, PollFlags::IN)], None).unwrap();
    reader.answer().unwrap().unwrap()
}

#[test]
fn a_reading_begins_at_once_when_it_is_wanted_and_else_in_turn() {
    let mut reader = Reader::new("twice", |number: u32| 2 * number).unwrap();
    let mut prompt = false;
    // A reading that took long, on a busy machine, is not repeated at once.
    for number in 0..20 {
        let began = Instant::now();
        let later = |milliseconds| began + Duration::from_millis(milliseconds);
        reader.begin(number, began).unwrap();
        assert!(!reader.is_due(later(60_000)), "one at a time");
        assert_eq!(answer(&mut reader), 2 * number);
        assert!(reader.answer().unwrap().is_none());
        assert!(!reader.is_due(later(99)));
        assert!(reader.is_due(later(60_000)));
        reader.want();
        prompt |= reader.is_due(later(99));
        reader.begin(number, began).unwrap();
        reader.want();
        assert_eq!(reader.wait().unwrap(), 2 * number);
        assert!(reader.is_due(later(60_000)));
    }
    assert!(prompt);
}

#[test]
fn a_reading_that_panics_is_said_and_the_next_one_is_read() {
    let halve = |number: u32| {
        assert!(number.is_multiple_of(2), "this panic is wanted");
        number / 2
    };
    let mut reader = Reader::new("half", halve).unwrap();
    reader.begin(1, Instant::now()).unwrap();
    let error = reader.wait().unwrap_err().to_string();
    assert_eq!(error, "the thread half ended");
    assert!(reader.answer().unwrap().is_none());
    reader.begin(2, Instant::now()).unwrap();
    assert_eq!(answer(&mut reader), 1);
}
