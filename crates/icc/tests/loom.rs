//! All interleavings of the two ends of a ring, by loom.
//!
//! The ring and its memory are compiled here a second time, with loom's atomics under the name they
//! import them by: no separate build with other flags is needed.

#![allow(unreachable_pub, dead_code, clippy::pedantic)]

mod sync {
    pub(crate) use loom::sync::Arc;
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
}

#[path = "../src/memory.rs"]
mod memory;
#[path = "../src/ring.rs"]
mod ring;

use self::memory::Heap;
use self::ring::{Consumer, Place, Producer};

/// Every interleaving of two sends and the receives that wait for them: order kept, nothing
/// lost, nothing seen before it is whole, and the reused words never mix two records.
#[test]
fn two_records_through_a_ring_of_two_words() {
    loom::model(|| {
        let place = Place {
            first: 0,
            capacity: 2,
        };
        let memory = Heap::new(Place::words(place.capacity));
        let mut producer = Producer::new(memory.clone(), place);
        let sender = loom::thread::spawn(move || {
            for value in [7_u64, 9] {
                while producer.send(value as u32, &value.to_le_bytes()).is_err() {
                    loom::thread::yield_now();
                }
            }
        });
        let mut consumer = Consumer::new(memory, place);
        for expected in [7_u64, 9] {
            let mut buffer = [0; 8];
            loop {
                if let Some((tag, length)) = consumer.receive(&mut buffer).unwrap() {
                    assert_eq!((u64::from(tag), length), (expected, 8));
                    assert_eq!(u64::from_le_bytes(buffer), expected);
                    break;
                }
                loom::thread::yield_now();
            }
        }
        sender.join().unwrap();
    });
}
