//! Interrupt lines of devices, which come to other cores for a while
//! (Documentation/core-api/irq/irq-affinity.rst).
//!
//! [`Interrupts`] owns a [`Setting`] for each line, so all of them get their cores back, after a
//! crash too. Lines that the kernel places itself, or that belong to one core, stay where they are.

use std::path::Path;

use crate::cores::write_list;
use crate::settings::{Setting, sweep_leftovers};
use crate::{CoreId, files};

/// The lines that can be moved, until dropped.
#[derive(Debug)]
pub struct Interrupts(Vec<Setting>);

impl Interrupts {
    /// Takes hold of every line that can be moved; none is moved yet. What a dead process moved is
    /// put back first.
    pub fn take() -> Self {
        sweep_leftovers();
        Self::below(Path::new("/proc/irq"))
    }

    fn below(place: &Path) -> Self {
        let lines = files::entries(place).filter_map(|(_, line)| {
            let path = line.join("smp_affinity_list");
            // Lines that the kernel manages itself refuse even what they have already.
            Setting::change(&path, &files::trimmed(&path).ok()?).ok()
        });
        Self(lines.collect())
    }

    /// Whether no line can be moved.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Has every line come to `cores`; how many do.
    pub fn put(&self, cores: &[CoreId]) -> usize {
        let list = write_list(cores);
        self.0.iter().filter(|line| line.set(&list).is_ok()).count()
    }
}

#[cfg(test)]
mod tests {
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
}
