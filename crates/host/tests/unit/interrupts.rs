//! Of `host/src/interrupts.rs`.

use std::fs;

use super::*;

fn lines(place: &Path) -> Vec<String> {
    let lines = files::entries(place);
    let mut found: Vec<String> = lines
        .filter_map(|(_, line)| files::trimmed(line.join("smp_affinity_list")).ok())
        .collect();
    found.sort();
    found
}

#[test]
fn interrupts_are_put_elsewhere_and_back() {
    if !needs::root("for the journal of settings") {
        return;
    }
    // A stand-in for `/proc/irq`.
    let directory = crate::temporary::Directory::new("irq").unwrap();
    for number in ["24", "25"] {
        let place = directory.path().join(number);
        fs::create_dir(&place).unwrap();
        fs::write(place.join("smp_affinity_list"), "7").unwrap();
    }
    fs::create_dir(directory.path().join("26")).unwrap();
    let interrupts = Interrupts::below(directory.path());
    assert_eq!(interrupts.put(&[CoreId(3)]), 2);
    assert_eq!(lines(directory.path()), ["3", "3"]);
    drop(interrupts);
    assert_eq!(lines(directory.path()), ["7", "7"]);
}

#[test]
fn real_interrupts_are_as_before() {
    let place = Path::new("/proc/irq");
    if !needs::root("to move interrupts") {
        return;
    }
    let interrupts = Interrupts::take();
    let before = lines(place);
    let cores = crate::allowed_cores().unwrap();
    if interrupts.put(&cores[..1]) == 0 {
        needs::skipped!("no interrupt can be moved here");
        return;
    }
    let on_first = lines(place);
    interrupts.put(&cores[cores.len() - 1..]);
    assert!(cores.len() < 2 || lines(place) != on_first);
    drop(interrupts);
    assert_eq!(lines(place), before);
}
