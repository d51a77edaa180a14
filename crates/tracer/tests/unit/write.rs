use super::*;

#[test]
fn events_wait_and_the_oldest_are_written_when_they_are_too_many() {
    let mut file = FileWriter::new(Vec::new(), &Header::default()).expect("memory");
    let mut core = CoreWriter::new(0);
    let mut gather = |file: &mut FileWriter<Vec<u8>>, time| {
        core.push(&Event {
            time,
            cpu: 0,
            tid: 7,
            kind: Kind::FutexExit(0),
        });
        file.core(&mut core).expect("memory");
    };
    let empty = file.written();
    gather(&mut file, 10);
    gather(&mut file, 20);
    assert_eq!(file.written(), empty);
    assert_eq!(file.waiting.len(), 2);
    file.most_waiting = file.waiting_bytes;
    gather(&mut file, 30);
    assert_eq!(file.waiting.front().map(|oldest| oldest.first), Some(20));
    assert!(file.written() > empty);
    let bytes = file.finish(&Trailer::default()).expect("memory");
    let events = crate::Trace::from_bytes(&bytes).expect("a trace").events;
    let times: Vec<u64> = events.iter().map(|event| event.time).collect();
    assert_eq!(times, [10, 20, 30]);
}

/// A core hands over an event at each of these times; what is kept of them, and from when.
fn kept(times: &[u64], length: u64, most: usize) -> (Vec<u64>, Option<u64>) {
    let mut file = FileWriter::new(Vec::new(), &Header::default()).expect("memory");
    file.keep_last(length);
    file.most_waiting = most;
    let mut core = CoreWriter::new(0);
    let empty = file.written();
    let mut hand_over = |file: &mut FileWriter<Vec<u8>>, time| {
        core.push(&Event {
            time,
            cpu: 0,
            tid: 7,
            kind: Kind::FutexExit(0),
        });
        file.core(&mut core).expect("memory");
    };
    for &time in times {
        hand_over(&mut file, time);
        file.forget(time);
        assert_eq!(file.written(), empty, "nothing is written before the end");
    }
    let end = times.last().map_or(0, |time| time + 1);
    if most == MOST_KEPT {
        // What a core has from after the end makes nobody forget what is before it.
        hand_over(&mut file, end + 10 * length);
    }
    let begins = file.begins(end);
    let bytes = file.finish(&Trailer::default()).expect("memory");
    let events = crate::Trace::from_bytes(&bytes).expect("a trace").events;
    let times = events.iter().map(|event| event.time);
    (times.filter(|&time| time < end).collect(), begins)
}

#[test]
fn the_last_part_is_kept_and_no_more_than_fits() {
    let times = [100, 200, 300, 400, 500];
    assert_eq!(kept(&times, 1_000, MOST_KEPT), (times.to_vec(), Some(0)));
    // From 301 on; the event at 300 says who ran then.
    assert_eq!(
        kept(&times, 200, MOST_KEPT),
        (vec![300, 400, 500], Some(301))
    );
    let (events, begins) = kept(&times, 1_000, 10);
    assert!(
        !events.is_empty() && events.len() < times.len(),
        "{events:?}"
    );
    let forgotten = times[times.len() - events.len() - 1];
    assert_eq!(begins, Some(forgotten), "{events:?}");
}
