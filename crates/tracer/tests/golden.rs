//! Traces recorded by Linux 6.1 and 6.18 read and mean the same for ever.

use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tracer::Trace;
use tracer::analyse::Analysis;
use tracer::analyse::classify::Class;
use tracer::event::{Kind, TaskNews};
use tracer::format::write::{CoreWriter, FileWriter};
use tracer::record::{self, Options};
use tracer::threads::Role;
use tracer::verdict::verdict;

use crate::live_help::{busy, go_before_others, pin, root};

fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

const LINUX_6_18: &str = "linux-6.18.trace";

/// `scripts/trace-fixture` made them.
#[test]
fn traces_of_linux_6_1_mean_what_they_meant() {
    for (name, way) in [
        ("linux-6.1-ebpf.trace", "eBPF"),
        ("linux-6.1-perf.trace", "perf, as asked"),
    ] {
        let trace = Trace::open(&fixture(name)).expect("the fixture");
        assert!(trace.complaints.is_empty(), "{:?}", trace.complaints);
        assert!(trace.header.kernel.starts_with("6.1."));
        assert_eq!(trace.header.switches, way);
        assert_eq!(trace.events_lost(), 0);
        let analysis = Analysis::new(&trace);
        let budget = &analysis.budget;
        assert_eq!(budget.total(), budget.wall * budget.cores);
        assert!(budget.unknown * 50 < budget.total());
        let found = verdict(&trace, &analysis);
        let blamed: Vec<_> = found
            .blamed
            .iter()
            .map(|index| &analysis.locks[*index])
            .map(|lock| (lock.name.as_str(), lock.class, lock.waited.waiters().len()))
            .collect();
        assert_eq!(
            blamed,
            [("routes", Class::Mutex, 2)],
            "{:?}",
            found.sentences
        );
    }
}

#[test]
fn a_trace_of_linux_6_18_means_what_it_meant() {
    let trace = Trace::open(&fixture(LINUX_6_18)).expect("the fixture");
    assert!(trace.complaints.is_empty(), "{:?}", trace.complaints);
    assert!(trace.header.kernel.starts_with("6.18"));
    assert_eq!(trace.events_lost(), 0);
    let analysis = Analysis::new(&trace);
    assert_eq!(
        analysis.budget.total(),
        analysis.budget.wall * analysis.budget.cores
    );
    let unknown = analysis.budget.unknown as f64 / analysis.budget.total() as f64;
    assert!(unknown < 0.02, "{unknown} of the time is not explained");
    let found = verdict(&trace, &analysis);
    let first = &analysis.locks[*found.blamed.first().expect("a lock is to blame")];
    assert_eq!(
        (first.name.as_str(), first.class),
        ("golden::ROUTES", Class::Mutex)
    );
    assert!(
        found.sentences[1].starts_with("The mutex `golden::ROUTES`: 2 threads waited"),
        "{:?}",
        found.sentences
    );
    let demand = first.demand.expect("hundreds of holds");
    // Two threads held it for 150 µs of every 200.
    assert!((0.7..0.8).contains(&demand.serial), "{}", demand.serial);
}

static ROUTES: Mutex<u64> = Mutex::new(0);

/// Names of the machine's other programs are nobody's business.
fn without_strangers(mut trace: Trace) -> Trace {
    let threads = Analysis::new(&trace).timeline.threads;
    let own = |tid| threads.role(tid) == Role::Target;
    for change in &mut trace.tasks {
        if let TaskNews::Named(name) = &mut change.what
            && !own(change.tid)
            && threads.role(change.tid) != Role::Kernel
        {
            "other".clone_into(name);
        }
    }
    trace
        .events
        .retain(|event| own(event.tid) || !matches!(event.kind, Kind::Sample(_)));
    let spoken_of: std::collections::HashSet<u32> = trace
        .events
        .iter()
        .filter_map(|event| match event.kind {
            Kind::Sample(stack) | Kind::Stack(stack) => Some(stack),
            _ => None,
        })
        .collect();
    for (number, stack) in trace.trailer.stacks.iter_mut().enumerate() {
        if !spoken_of.contains(&(number as u32)) {
            stack.clear();
        }
    }
    trace
        .trailer
        .names
        .retain(|name| name.process == 0 || own(name.process));
    trace.trailer.probes.retain(|probe| own(probe.process));
    "host".clone_into(&mut trace.header.host);
    "golden".clone_into(&mut trace.header.command);
    trace
}

#[test]
#[ignore = "writes the fixture anew, from the running kernel"]
fn record_the_fixture() {
    if !root() {
        return;
    }
    let ((), trace) = record::record_while(&Options::default(), || {
        std::thread::scope(|scope| {
            for core in 0..2 {
                scope.spawn(move || {
                    pin(core);
                    assert!(go_before_others(), "the fixture needs both cores");
                    let start = Instant::now();
                    while start.elapsed() < Duration::from_millis(60) {
                        if let Ok(mut routes) = ROUTES.lock() {
                            busy(Duration::from_micros(150));
                            *routes += 1;
                        }
                        busy(Duration::from_micros(50));
                    }
                });
            }
        });
    })
    .expect("root may record");
    let trace = without_strangers(trace);
    let mut file = FileWriter::new(Vec::new(), &trace.header).expect("memory");
    for cpu in &trace.header.cores {
        let mut core = CoreWriter::new(*cpu);
        trace
            .events
            .iter()
            .filter(|event| event.cpu == *cpu)
            .for_each(|event| core.push(event));
        file.core(&mut core).expect("memory");
    }
    file.tasks(&trace.tasks).expect("memory");
    std::fs::write(
        fixture(LINUX_6_18),
        file.finish(&trace.trailer).expect("memory"),
    )
    .expect("the fixture's place");
}
