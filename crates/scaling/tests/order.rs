//! The order in which a sweep takes cores.

use host::cores::CoreId;
use host::topology::{Cache, Core, Topology};
use scaling::harness::order::{boundaries, order};

/// Two packages of two cores with two threads each, numbered as Linux does: 0-3 first threads,
/// 4-7 second threads.
fn machine() -> Topology {
    let ids = |list: &[u32]| list.iter().map(|&n| CoreId(n)).collect::<Vec<_>>();
    let cores = (0..8_u32)
        .map(|n| {
            let package = (n % 4) / 2;
            let shared_by = ids(&[
                2 * package,
                2 * package + 1,
                2 * package + 4,
                2 * package + 5,
            ]);
            Core {
                id: CoreId(n),
                package,
                threads: ids(&[n % 4, n % 4 + 4]),
                caches: vec![Cache {
                    level: 3,
                    kind: "Unified".into(),
                    bytes: 1 << 25,
                    shared_by,
                }],
                node: Some(package),
            }
        })
        .collect();
    Topology { cores }
}

#[test]
fn own_cores_come_before_second_threads_and_near_before_far() {
    let all: Vec<CoreId> = [7, 6, 5, 4, 3, 2, 1, 0].map(CoreId).to_vec();
    let ordered = order(&machine(), &all);
    assert_eq!(
        ordered.iter().map(|c| c.0).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4, 5, 6, 7]
    );
    let marks: Vec<_> = boundaries(&machine(), &ordered)
        .into_iter()
        .map(|b| (b.cores, b.what))
        .collect();
    assert_eq!(
        marks,
        [
            (3, "cores of another node".to_owned()),
            (5, "second thread of a core".to_owned()),
            (7, "cores of another node".to_owned())
        ]
    );
}

#[test]
fn a_second_thread_whose_first_is_not_allowed_is_a_core_of_its_own() {
    let ordered = order(&machine(), &[CoreId(1), CoreId(4)]);
    assert_eq!(ordered, [CoreId(1), CoreId(4)]);
    assert_eq!(boundaries(&machine(), &ordered), []);
}
