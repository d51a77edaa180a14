//! How much of the machine this process may use: a quota of processor time can be less than the
//! cores it sees.

use std::fs;
use std::path::Path;

/// The quota of processor time in cores, the smallest of all control groups from this process's own
/// to the root; `None` without.
pub fn quota() -> Option<f64> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = own.lines().filter_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let (root, limit): (_, fn(&Path) -> _) = if controllers.is_empty() {
            ("/sys/fs/cgroup", unified)
        } else if controllers.split(',').any(|c| c == "cpu") {
            ("/sys/fs/cgroup/cpu", legacy)
        } else {
            return None;
        };
        let group = Path::new(root).join(path.trim_start_matches('/'));
        let groups = group
            .ancestors()
            .take_while(|group| group.starts_with(root));
        groups.filter_map(limit).min_by(f64::total_cmp)
    });
    limits.min_by(f64::total_cmp)
}

fn read(group: &Path, file: &str) -> String {
    fs::read_to_string(group.join(file)).unwrap_or_default()
}

fn unified(group: &Path) -> Option<f64> {
    parse_max(&read(group, "cpu.max"))
}

fn legacy(group: &Path) -> Option<f64> {
    parse_max(&format!(
        "{} {}",
        read(group, "cpu.cfs_quota_us").trim(),
        read(group, "cpu.cfs_period_us").trim()
    ))
}

/// `quota period` in microseconds; `max` or a negative quota is none.
fn parse_max(text: &str) -> Option<f64> {
    let mut words = text.split_ascii_whitespace();
    let quota: f64 = words.next()?.parse().ok()?;
    let period: f64 = words.next()?.parse().ok()?;
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// The core counts that a sweep tries: all of them up to eight, then steps of about a half, the
/// `marks` (where a new kind of core begins, and the count before it) and the last.
pub fn counts(most: u32, marks: &[u32]) -> Vec<u32> {
    let mut counts: Vec<u32> = (1..=most.min(8)).collect();
    let mut power = 8;
    while power < most {
        counts.extend([power * 3 / 2, power * 2]);
        power *= 2;
    }
    counts.extend(
        marks
            .iter()
            .flat_map(|&mark| [mark.saturating_sub(1), mark]),
    );
    counts.push(most);
    counts.retain(|&n| (1..=most).contains(&n));
    counts.sort_unstable();
    counts.dedup();
    counts
}

#[cfg(test)]
#[path = "../../tests/unit/allowance.rs"]
mod tests;
