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
