//! System calls of the threads of one process, and of processes: threads share what their process
//! has, and the kernel locks it.

use std::hint::black_box;
use std::ptr;

use host::loops;
use rustix::event::{EventfdFlags, eventfd};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use super::{Body, Kind, Loop, Test, Workload, done, last, nothing};
use crate::result::ScaleResult;

/// The workload.
pub const WORKLOAD: Workload = Workload {
    name: "contention",
    sentence: "Computes, duplicates descriptors and maps memory, by processes and by the threads \
               of one process, which share the descriptors and the address space.",
    then: "several processes: average to poor. Threads: close to linear, \"but can also degrade \
           to become as low as single processor performance for system call intensive \
           applications\"",
    kind: Kind::Loop(Loop {
        unit: "loops",
        variants: |_| {
            let named = TESTS.iter().enumerate();
            named
                .map(|(index, test)| (test.0.to_owned(), index))
                .collect()
        },
        start: |index| TESTS[index.min(TESTS.len() - 1)].1(),
        threads: true,
        now,
    }),
};

const TESTS: [Test; 3] = [
    ("arithmetic", arithmetic),
    ("duplicating and closing a descriptor", descriptors),
    ("mapping, touching and unmapping memory", mappings),
];

/// Bytes that are mapped at a time, and how far apart they are touched.
const MAPPED: usize = 64 * 1024;
const PAGE: usize = 4096;

fn arithmetic() -> Body {
    Box::new(|| {
        black_box(loops::spin(20_000, 1));
        1.0
    })
}

/// Threads of a process have one table of descriptors.
fn descriptors() -> Body {
    let Ok(own) = eventfd(0, EventfdFlags::CLOEXEC) else {
        return nothing();
    };
    Box::new(move || done(100.0, (0..100).all(|_| rustix::io::dup(&own).is_ok())))
}

/// Threads of a process have one address space.
fn mappings() -> Body {
    Box::new(|| done(10.0, (0..10).all(|_| map_and_touch())))
}

fn map_and_touch() -> bool {
    let flags = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    // SAFETY: the kernel chooses the place, so nothing of ours is mapped over; every write is
    // within the mapping, and nobody has its address when it is taken away.
    unsafe {
        let Ok(place) = mmap_anonymous(ptr::null_mut(), MAPPED, flags.0, flags.1) else {
            return false;
        };
        for page in (0..MAPPED).step_by(PAGE) {
            place.cast::<u8>().add(page).write_volatile(1);
        }
        munmap(place, MAPPED).is_ok()
    }
}

fn now(results: &[(String, ScaleResult)]) -> String {
    let gains = results.iter().filter_map(|(label, result)| {
        let point = last(result)?;
        Some(format!("{label} {}", point.range()))
    });
    let cores = results.first().and_then(|(_, result)| last(result));
    let cores = cores.map_or(1, |point| point.cores);
    let gains: Vec<String> = gains.collect();
    format!(
        "{cores} at once do so many times the work of one: {}",
        gains.join("; ")
    )
}

#[cfg(test)]
#[path = "../../tests/unit/contention.rs"]
mod tests;
