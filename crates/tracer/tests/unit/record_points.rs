//! Of `tracer/src/record/points.rs`.

use super::*;
use crate::event::{Context, Kind, Left};
use crate::record::{System, tracefs};

/// A tracefs of another kernel: its `format` files, laid out from one text.
fn elsewhere(kernel: &str, text: &str) -> host::temporary::Directory {
    let root = host::temporary::Directory::new(kernel).expect("a temporary directory");
    for part in text.split("=== ").skip(1) {
        let (path, format) = part.split_once('\n').expect("a path and a text");
        let place = root.path().join("events").join(path);
        std::fs::create_dir_all(&place).expect("a temporary directory");
        std::fs::write(place.join("format"), format).expect("a temporary file");
    }
    root
}

const KERNELS: [(&str, &str); 3] = [
    ("5.10-rt", include_str!("../fixtures/formats-5.10-rt.txt")),
    ("6.1", include_str!("../fixtures/formats-6.1.txt")),
    ("6.8", include_str!("../fixtures/formats-6.8.txt")),
];

fn on(kernel: usize) -> (Decoders, Header) {
    let (name, text) = KERNELS[kernel];
    let root = elsewhere(name, text);
    let options = Options {
        system: System {
            tracing: vec!["/nowhere".into(), root.path().to_owned()],
            ..System::default()
        },
        ..Options::default()
    };
    let formats = tracefs::formats(&options.system, &paths(&options)).expect("it is there");
    let mut header = Header::default();
    let found = points(&options, &formats, None, &mut header).expect("all that is needed");
    (found.0, header)
}

#[test]
fn records_of_other_kernels_are_read_by_their_own_layouts() {
    // Real-time kernels of that age have two more bytes that all records share.
    for (kernel, [state, next, pid, core]) in [[40, 64, 28, 40], [32, 56, 24, 32], [32, 56, 24, 32]]
        .into_iter()
        .enumerate()
    {
        let (decoders, _) = on(kernel);
        let kind = |point: Point, raw: &[u8]| {
            let mut decoders = decoders.values();
            let decoder = decoders.find(|decoder| decoder.point == point);
            decoder.map(|decoder| decoder.kind(raw, 0))
        };
        let mut raw = [0_u8; 80];
        raw[state] = 2;
        raw[next..next + 4].copy_from_slice(&4711_u32.to_le_bytes());
        let switch = Kind::Switch {
            left: Left::Uninterruptible,
            next: 4711,
        };
        let name = KERNELS[kernel].0;
        assert_eq!(kind(Point::Switch, &raw), Some(switch), "{name}");
        let mut raw = [0_u8; 80];
        (raw[pid], raw[core]) = (77, 3);
        let waking = Kind::Waking {
            woken: 77,
            target: 3,
            by: Context::Thread,
            new: false,
        };
        assert_eq!(kind(Point::Waking, &raw), Some(waking), "{name}");
    }
}

#[test]
fn an_old_kernel_tells_what_it_cannot_say() {
    let told = "lock:contention_begin: waits for kernel locks";
    let (_, header) = on(0);
    let mut missing = header.missing.iter();
    assert!(
        missing.any(|missing| missing.starts_with(told)),
        "{header:?}"
    );
    let (_, header) = on(2);
    let mut missing = header.missing.iter();
    assert!(
        !missing.any(|missing| missing.contains("contention")),
        "{header:?}"
    );
}

#[test]
fn nothing_goes_without_switches() {
    let options = Options::default();
    let none: Vec<Option<String>> = paths(&options).iter().map(|_| None).collect();
    let mut header = Header {
        kernel: "4.0".to_owned(),
        ..Header::default()
    };
    let Err(error) = points(&options, &none, None, &mut header) else {
        panic!("a kernel without tracepoints was taken");
    };
    let words = error.to_string();
    assert!(
        words.contains("4.0")
            && words.contains("sched/sched_switch")
            && words.contains("CONFIG_TRACING"),
        "{words}"
    );
}

#[test]
fn without_tracefs_the_error_says_so() {
    let system = System {
        tracing: vec!["/nowhere".into()],
        mounts: false,
        ..System::default()
    };
    let Err(error) = tracefs::formats(&system, &["sched/sched_switch".to_owned()]) else {
        panic!("there is no tracefs at /nowhere");
    };
    let words = error.to_string();
    assert!(
        words.contains("/nowhere") && words.contains("mount -t tracefs"),
        "{words}"
    );
}

#[test]
fn without_type_information_perf_does_it_and_the_trace_says_why() {
    let options = Options {
        system: System {
            types: "/nowhere/vmlinux".into(),
            ..System::default()
        },
        ..Options::default()
    };
    let mut header = Header {
        cores: vec![0],
        ..Header::default()
    };
    assert!(switches(&options, &mut header).is_none());
    assert_eq!(
        header.switches,
        "perf: no type information in /nowhere/vmlinux"
    );
}

#[test]
fn stacks_are_copied_only_where_tables_shall_unwind_them() {
    let places = [
        Point::FutexEnter,
        Point::Waking,
        Point::LockBegin,
        Point::Begin(Interrupt::Timer),
    ];
    for point in places {
        for stacks in [None, Some(Unwinding::FramePointers)] {
            assert!(chain(point, stacks).is_none_or(|chain| !chain.copied));
        }
        let copied = chain(point, Some(Unwinding::Tables)).expect("a code place");
        assert!(copied.copied && !copied.user, "{point:?}");
    }
    assert_eq!(chain(Point::FutexExit, Some(Unwinding::Tables)), None);
}
