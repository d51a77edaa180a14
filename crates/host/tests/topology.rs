//! How cores share silicon, read from a tree of files.

use std::fs;

use host::{CoreId, Topology};

/// Two packages of one physical core with two threads each, numbered as many servers do: 0 and
/// 2 are one core.
fn machine() -> (tempfile::TempDir, Topology) {
    let root = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("online", "0-3\n");
    for core in 0..4 {
        let package = core % 2;
        put(
            &format!("cpu{core}/topology/physical_package_id"),
            &format!("{package}\n"),
        );
        put(
            &format!("cpu{core}/topology/thread_siblings_list"),
            &format!("{package},{}\n", package + 2),
        );
        put(&format!("cpu{core}/cache/index0/level"), "2\n");
        put(&format!("cpu{core}/cache/index0/type"), "Unified\n");
        put(&format!("cpu{core}/cache/index0/size"), "1024K\n");
        put(
            &format!("cpu{core}/cache/index0/shared_cpu_list"),
            &format!("{package},{}\n", package + 2),
        );
        fs::create_dir_all(root.path().join(format!("cpu{core}/node{package}"))).unwrap();
    }
    let topology = Topology::from_sysfs(root.path());
    (root, topology)
}

#[test]
fn reads_packages_threads_caches_nodes() {
    let (_root, topology) = machine();
    let third = topology.core(CoreId(3)).unwrap();
    assert_eq!((third.package, third.node), (1, Some(1)));
    assert_eq!(third.threads, [CoreId(1), CoreId(3)]);
    assert_eq!(third.caches[0].bytes, 1 << 20);
}

#[test]
fn physical_cores_come_before_second_threads() {
    let (_root, topology) = machine();
    let all = [0, 1, 2, 3].map(CoreId);
    assert_eq!(topology.physical_first(&all), [0, 1, 2, 3].map(CoreId));
    assert_eq!(
        topology.physical_first(&[0, 2, 3].map(CoreId)),
        [0, 3, 2].map(CoreId)
    );
    assert_eq!(topology.physical_count(&all), 2);
}

#[test]
fn this_machine_has_cores() {
    assert!(!Topology::read().cores.is_empty());
}
