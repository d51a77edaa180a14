//! How cores share silicon: threads of a core, caches, packages, memory nodes.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cores::{self, CoreId};
use crate::files;

/// Where Linux describes the cores.
const SYSFS: &str = "/sys/devices/system/cpu";
/// More caches than any core has.
const CACHES_MAX: usize = 32;

/// A cache as one core sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cache {
    /// 1 is nearest to the core.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`, in the kernel's words.
    pub kind: String,
    /// Size in bytes.
    pub bytes: u64,
    /// The cores that share it, this one among them.
    pub shared_by: Vec<CoreId>,
}

/// One logical CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Core {
    /// Its number.
    pub id: CoreId,
    /// The socket it sits in.
    pub package: u32,
    /// All threads of its physical core, this one among them.
    pub threads: Vec<CoreId>,
    /// Its caches, nearest first.
    pub caches: Vec<Cache>,
    /// The memory node it is nearest to; `None` where the kernel names none.
    pub node: Option<u32>,
}

/// All online cores, ascending by number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Topology {
    /// The cores.
    pub cores: Vec<Core>,
}

impl Topology {
    /// Reads this machine's.
    pub fn read() -> Self {
        Self::from_sysfs(Path::new(SYSFS))
    }

    /// Reads a directory laid out like `/sys/devices/system/cpu`.
    pub fn from_sysfs(root: &Path) -> Self {
        let online = list(&root.join("online"));
        Self {
            cores: online.into_iter().map(|id| Core::read(root, id)).collect(),
        }
    }

    /// The core with this number, if it is online.
    pub fn core(&self, id: CoreId) -> Option<&Core> {
        self.cores.iter().find(|core| core.id == id)
    }

    /// `cores` in the order in which a sweep should use them: one thread of every physical core
    /// first, then the second threads, and so on; within a round by package and number.
    pub fn physical_first(&self, cores: &[CoreId]) -> Vec<CoreId> {
        let mut order: Vec<(usize, u32, CoreId)> = cores
            .iter()
            .map(|&id| {
                let core = self.core(id);
                let earlier = core.map_or(0, |core| {
                    core.threads
                        .iter()
                        .filter(|&&thread| thread < id && cores.contains(&thread))
                        .count()
                });
                (earlier, core.map_or(0, |core| core.package), id)
            })
            .collect();
        order.sort_unstable();
        order.into_iter().map(|(_, _, id)| id).collect()
    }

    /// Number of distinct physical cores among `cores`.
    pub fn physical_count(&self, cores: &[CoreId]) -> usize {
        let mut firsts: Vec<CoreId> = cores
            .iter()
            .map(|&id| {
                self.core(id)
                    .and_then(|core| core.threads.first())
                    .copied()
                    .unwrap_or(id)
            })
            .collect();
        firsts.sort_unstable();
        firsts.dedup();
        firsts.len()
    }
}

impl Core {
    fn read(root: &Path, id: CoreId) -> Self {
        let own = root.join(format!("cpu{id}"));
        let mut threads = list(&own.join("topology/thread_siblings_list"));
        if threads.is_empty() {
            threads.push(id);
        }
        let mut caches: Vec<Cache> = (0..CACHES_MAX)
            .map(|index| own.join(format!("cache/index{index}")))
            .take_while(|path| path.is_dir())
            .filter_map(|path| Cache::read(&path))
            .collect();
        caches.sort_by_key(|cache| cache.level);
        let package = files::trimmed_or_empty(own.join("topology/physical_package_id"))
            .parse()
            .unwrap_or(0);
        Self {
            id,
            package,
            threads,
            caches,
            node: node(&own),
        }
    }
}

impl Cache {
    fn read(path: &Path) -> Option<Self> {
        let level = files::trimmed_or_empty(path.join("level")).parse().ok()?;
        let bytes = size(&files::trimmed_or_empty(path.join("size"))).unwrap_or(0);
        Some(Self {
            level,
            kind: files::trimmed_or_empty(path.join("type")),
            bytes,
            shared_by: list(&path.join("shared_cpu_list")),
        })
    }
}

fn node(core: &Path) -> Option<u32> {
    files::entries(core).find_map(|(name, _)| name.strip_prefix("node")?.parse().ok())
}

fn list(path: &Path) -> Vec<CoreId> {
    cores::parse_list(&files::text(path)).unwrap_or_default()
}

/// `32K`, `1024K`, `36M` in bytes.
fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|character: char| !character.is_ascii_digit());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
#[path = "../tests/unit/topology.rs"]
mod tests;
