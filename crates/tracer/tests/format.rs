//! The file format: what is written comes back, and what is broken is said to be.

use tracer::Trace;
use tracer::event::{
    Context, Event, FutexCall, Interrupt, Kind, Left, Operation, TaskChange, TaskNews,
};
use tracer::format::read::ReadError;
use tracer::format::write::{CoreWriter, FileWriter};
use tracer::trace::{Header, Trailer};

fn every_kind() -> Vec<Kind> {
    let call = FutexCall {
        address: 0x7fff_1234_5678,
        value: u32::MAX,
        operation: Operation::WaitBitset,
        private: true,
        timeout: true,
    };
    vec![
        Kind::Waking {
            woken: 77,
            target: 3,
            by: Context::Thread,
            new: false,
        },
        Kind::Waking {
            woken: 78,
            target: 900,
            by: Context::Hardirq,
            new: true,
        },
        Kind::Switch {
            left: Left::Sleeping,
            next: 77,
        },
        Kind::FutexEnter(call),
        Kind::FutexEnter(FutexCall {
            value: 2,
            timeout: false,
            ..call
        }),
        Kind::FutexExit(-11),
        Kind::Stack(17),
        Kind::Sample(18),
        Kind::LockBegin {
            address: u64::MAX,
            flags: 34,
        },
        Kind::LockEnd {
            address: u64::MAX,
            result: -4,
        },
        Kind::InterruptBegin(Interrupt::Line(300)),
        Kind::InterruptEnd(Interrupt::Line(300)),
        Kind::InterruptBegin(Interrupt::Soft(3)),
        Kind::Poll {
            work: 64,
            budget: 64,
        },
        Kind::Packets {
            sent: 16,
            dropped: 1,
        },
        Kind::InterruptEnd(Interrupt::Soft(3)),
        Kind::InterruptBegin(Interrupt::Timer),
        Kind::InterruptEnd(Interrupt::Timer),
        Kind::InterruptBegin(Interrupt::Reschedule),
        Kind::InterruptEnd(Interrupt::Reschedule),
        Kind::InterruptBegin(Interrupt::Call),
        Kind::InterruptEnd(Interrupt::Call),
        Kind::Migrate {
            moved: 77,
            from: 0,
            to: 511,
        },
        Kind::Progress {
            point: 2,
            total: 1 << 60,
        },
        Kind::Stolen {
            time: 30_000_000,
            within: 100_000_007,
        },
        Kind::Lost(4_000_000),
        Kind::Switch {
            left: Left::Preempted,
            next: 0,
        },
        Kind::Switch {
            left: Left::Idle,
            next: 4_194_303,
        },
    ]
}

fn stream(kinds: &[Kind]) -> Vec<Event> {
    let mut tid = 41;
    let mut time = 1_000_000_000_000;
    kinds
        .iter()
        .enumerate()
        .map(|(index, kind)| {
            time += [0, 5, 127, 128, 40_000, 5_000_000_000][index % 6];
            let event = Event {
                time,
                cpu: 3,
                tid,
                kind: *kind,
            };
            if let Kind::Switch { next, .. } = kind {
                tid = *next;
            }
            event
        })
        .collect()
}

fn write(events: &[Event], tasks: &[TaskChange]) -> Vec<u8> {
    let header = Header {
        kernel: "6.18".into(),
        cores: vec![3],
        ..Header::default()
    };
    let mut file = FileWriter::new(Vec::new(), &header).expect("a vector takes all");
    let mut core = CoreWriter::new(3);
    for event in events {
        core.push(event);
        if core.is_full() {
            file.core(&mut core).expect("a vector takes all");
        }
    }
    file.core(&mut core).expect("a vector takes all");
    file.tasks(tasks).expect("a vector takes all");
    file.finish(&Trailer {
        lost: vec![(3, 12)],
        ..Trailer::default()
    })
    .expect("a vector takes all")
}

#[test]
fn every_kind_comes_back() {
    let events = stream(&every_kind());
    let tasks = vec![
        TaskChange {
            time: 0,
            tid: 41,
            process: 40,
            what: TaskNews::Named("früh".into()),
        },
        TaskChange {
            time: 5,
            tid: 77,
            process: 40,
            what: TaskNews::Forked { parent: 40 },
        },
        TaskChange {
            time: 6,
            tid: 77,
            process: 77,
            what: TaskNews::Named("sh".into()),
        },
        TaskChange {
            time: 7,
            tid: 77,
            process: 77,
            what: TaskNews::Exited,
        },
    ];
    let trace = Trace::from_bytes(&write(&events, &tasks)).expect("our own file");
    assert_eq!(trace.events, events);
    assert_eq!(trace.tasks, tasks);
    assert_eq!(trace.events_lost(), 12);
    assert_eq!(trace.header.kernel, "6.18");
    assert!(trace.complaints.is_empty());
}

#[test]
fn a_switch_with_its_wake_up_stays_under_eight_bytes() {
    let mut kinds = Vec::new();
    for round in 0..50_000_u32 {
        let next = 100 + round % 4;
        kinds.push(Kind::Waking {
            woken: next,
            target: 3,
            by: Context::Thread,
            new: false,
        });
        kinds.push(Kind::Switch {
            left: Left::Sleeping,
            next,
        });
    }
    let mut time = 1;
    let mut tid = 9;
    let events: Vec<Event> = kinds
        .iter()
        .map(|kind| {
            let event = Event {
                time,
                cpu: 3,
                tid,
                kind: *kind,
            };
            if let Kind::Switch { next, .. } = kind {
                tid = *next;
                time += 45_000;
            } else {
                time += 5_000;
            }
            event
        })
        .collect();
    let bytes = write(&events, &[]);
    let each = bytes.len() as f64 / 50_000.0;
    assert!(each < 8.0, "{each} bytes a switch");
    assert_eq!(
        Trace::from_bytes(&bytes).expect("our own file").events,
        events
    );
}

#[test]
fn a_cut_file_says_so_wherever_it_is_cut() {
    let bytes = write(&stream(&every_kind()), &[]);
    for length in 0..bytes.len() {
        match Trace::from_bytes(&bytes[..length]) {
            Ok(trace) => assert!(
                trace.complaints.iter().any(|c| c.contains("cut off")),
                "cut at {length}"
            ),
            Err(ReadError::NoHeader(_) | ReadError::Foreign(_)) => {}
            Err(other) => panic!("cut at {length}: {other}"),
        }
    }
}

#[test]
fn a_flipped_bit_is_noticed_or_harmless() {
    let events = stream(&every_kind());
    let bytes = write(&events, &[]);
    for at in 0..bytes.len() {
        for bit in [0, 3, 7] {
            let mut broken = bytes.clone();
            broken[at] ^= 1 << bit;
            if let Ok(trace) = Trace::from_bytes(&broken)
                && trace.complaints.is_empty()
            {
                assert!(trace.events.len() <= events.len(), "byte {at} bit {bit}");
            }
        }
    }
}

#[test]
fn foreign_files_are_named() {
    let error = Trace::from_bytes(b"\x7fELF and so on, long enough")
        .expect_err("not ours")
        .to_string();
    assert!(
        error.contains("not a corelane trace") && error.contains("ELF"),
        "{error}"
    );
    let mut other = write(&[], &[]);
    other[15] = 9;
    let error = Trace::from_bytes(&other)
        .expect_err("another version")
        .to_string();
    assert!(error.contains("version 9"), "{error}");
    assert!(Trace::from_bytes(&[]).is_err());
}

#[test]
fn of_a_long_trace_the_last_part_is_read_and_that_is_said() {
    let header = Header {
        cores: vec![0, 1],
        ..Header::default()
    };
    let mut file = FileWriter::new(Vec::new(), &header).expect("a vector takes all");
    // Two cores, ten blocks of a hundred events each, a microsecond from one to the next.
    for block in 0..20_u64 {
        let cpu = (block % 2) as u16;
        let mut core = CoreWriter::new(cpu);
        for number in 0..100 {
            core.push(&Event {
                time: 1_000_000 + (block / 2 * 100 + number) * 1_000,
                cpu,
                tid: 7,
                kind: Kind::FutexExit(0),
            });
        }
        file.core(&mut core).expect("a vector takes all");
    }
    let trailer = Trailer {
        start: 1_000_000,
        end: 2_000_000,
        ..Trailer::default()
    };
    let bytes = file.finish(&trailer).expect("a vector takes all");
    let path = std::env::temp_dir().join(format!("corelane-last-{}", std::process::id()));
    std::fs::write(&path, &bytes).expect("a temporary file");
    let (last, all) = (Trace::open_last(&path, 650), Trace::open_last(&path, 2_000));
    std::fs::remove_file(&path).expect("it was written");
    let (last, all) = (last.expect("our own file"), all.expect("our own file"));
    assert_eq!((all.events.len(), all.complaints.len()), (2_000, 0));
    assert_eq!(last.events.len(), 600);
    assert_eq!(last.window(), (1_700_000, 2_000_000));
    assert!(
        last.complaints[0].contains("has 2000 events"),
        "{:?}",
        last.complaints
    );
}
