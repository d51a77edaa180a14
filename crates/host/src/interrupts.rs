//! Interrupt lines of devices, which come to other cores for a while
//! (Documentation/core-api/irq/irq-affinity.rst).
//!
//! [`Interrupts`] owns a [`Setting`] for each line, so all of them get their cores back, after a
//! crash too. Lines that the kernel places itself, or that belong to one core, stay where they are.

use std::path::Path;

use crate::cores::write_list;
use crate::settings::{Setting, sweep_leftovers};
use crate::{CoreId, files};

/// The lines of the device behind an interface that the calling thread's `/sys` shows: number, and
/// the driver's name for it.
pub fn lines_of(interface: &str) -> Vec<(u32, String)> {
    let device = Path::new("/sys/class/net").join(interface).join("device");
    // A virtio device has them from the one that carries it.
    let places = [device.join("msi_irqs"), device.join("../msi_irqs")];
    let lines = places.iter().flat_map(files::entries);
    let mut lines: Vec<(u32, String)> = lines
        .filter_map(|(number, _)| {
            // The kernel has a directory of the driver's name in that of the line.
            let mut inside = files::entries(Path::new("/proc/irq").join(&number));
            let (name, _) = inside.find(|(_, path)| path.is_dir())?;
            Some((number.parse().ok()?, name))
        })
        .collect();
    lines.sort();
    lines
}

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
#[path = "../tests/unit/interrupts.rs"]
mod tests;
