//! Of `scaling/src/workloads/mod.rs`.

use super::*;

#[test]
fn programs_are_looked_for_in_the_path() {
    assert!(installed("sh") && !installed("no-such-program-here"));
}

#[test]
fn what_others_leave_in_the_temporary_directory_is_not_written_through() {
    let directory = tempfile::tempdir().unwrap();
    let theirs = directory.path().join("theirs");
    std::fs::write(&theirs, "kept").unwrap();
    let links = ["logger", "log", "unix"].map(|name| {
        let name = format!("corelane-{name}-{}", std::process::id());
        std::env::temp_dir().join(name)
    });
    for link in &links {
        std::os::unix::fs::symlink(&theirs, link).unwrap();
    }
    let core = host::cores::allowed_cores().unwrap()[0];
    let short = Duration::from_millis(5);
    assert!(logger::measure(core, core, true, short).records > 0);
    let load = other_load::OtherLoad::start(&[(other_load::log, core)]);
    assert!(unix::file_copy()() >= 1.0);
    drop(load);
    assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "kept");
    for link in links {
        std::fs::remove_file(link).expect("nobody but us takes it away");
    }
}

#[test]
fn names_are_unique_and_every_loop_does_work_in_every_variant() {
    let caches = Caches {
        last: 1 << 20,
        second: 1 << 18,
    };
    let mut names: Vec<_> = all().iter().map(|w| w.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all().len());
    for workload in all() {
        assert!(workload.sentence.ends_with('.') && find(workload.name).is_some());
        if let Kind::Loop(lap) = &workload.kind {
            for (label, variant) in (lap.variants)(&caches) {
                let mut body = (lap.start)(variant);
                assert!(body() > 0.0 && body() > 0.0, "{} {label}", workload.name);
            }
        }
    }
}
