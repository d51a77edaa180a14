//! What a fleet carries, from the rate of one node and the spread of flows.
//!
//! The fullest of the living nodes gets the mean times the imbalance, and must not get more than a
//! node forwards. So M living nodes carry M × rate / imbalance. The imbalance is that of flows which
//! fall on nodes by chance ([`thrown`]), since the kernel's hash has a random key. The kernel itself is
//! asked too ([`crate::spread`]), and must be as chance is.

use figures::{Random, quantile};
use host::Environment;
use serde::{Deserialize, Serialize};

/// Name and version of the JSON form.
pub const SCHEMA: &str = "corelane-fleet-forecast/1";
/// Buckets of a resilient group.
pub const BUCKETS: u32 = 1024;
/// So often flows are thrown for each number of nodes.
const THROWS: u32 = 1000;
/// The kernel's median is as chance is when it lies between these shares of the throws.
const LIKE_CHANCE: (f64, f64) = (0.01, 0.99);
/// What holds for all that is said here.
const ASSUMPTIONS: [&str; 5] = [
    "all flows have the same rate; one flow goes by one node, and cannot have more than a node forwards",
    "all nodes forward the same rate, measured with frames like yours",
    "the spreader hashes addresses and ports, and itself carries the sum",
    "a node that failed has been noticed, and its flows go by the others",
    "each link carries what the fullest node gets",
];

/// How the spreader chooses a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// By buckets, which are dealt to the nodes in turn.
    Resilient,
    /// By equal shares of the hash.
    Plain,
}

/// What to forecast.
#[derive(Clone, Debug)]
pub struct Question {
    /// Frames a second that one node forwards without loss.
    pub rate: f64,
    /// Most nodes.
    pub nodes: u32,
    /// Flows, all of one rate.
    pub flows: u32,
    /// Nodes that may fail.
    pub failed: u32,
    /// How the spreader chooses.
    pub group: Group,
    /// Frames a second that the fleet must carry.
    pub load: Option<f64>,
    /// Of what falls by chance.
    pub seed: u64,
}

/// What fleets carry.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Forecast {
    /// The form.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: &'static str,
    /// Where the kernel was asked.
    pub environment: Environment,
    /// Frames a second that one node forwards without loss, as given.
    pub node_per_second: f64,
    /// Flows, all of one rate.
    pub flows: u32,
    /// Nodes that may fail.
    pub failed: u32,
    /// How the spreader chooses.
    pub group: Group,
    /// Frames a second that the fleet must carry, if that was asked.
    pub load_per_second: Option<f64>,
    /// The fewest nodes that carry that in 99 of 100 spreads; `null` when no row does.
    pub needs_nodes: Option<u32>,
    /// Whether the kernel spreads flows as chance does; `null` when it was not asked.
    pub kernel_is_like_chance: Option<bool>,
    /// What all of it assumes.
    pub assumptions: Vec<&'static str>,
    /// By the number of nodes.
    pub rows: Vec<Row>,
}

/// A fleet of some size. The imbalance is the fullest node's share against the mean of the living.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// Nodes.
    pub nodes: u32,
    /// Nodes that have not failed.
    pub living: u32,
    /// The imbalance that half of the spreads do not pass.
    pub imbalance_p50: f64,
    /// That 99 of 100 do not pass.
    pub imbalance_p99: f64,
    /// The kernel's own, of some spreads the median.
    pub imbalance_kernel: Option<f64>,
    /// Frames a second that 99 of 100 spreads carry.
    pub carries_p99: f64,
    /// Frames a second that half of the spreads carry.
    pub carries_p50: f64,
}

/// Forecasts by chance. `kernel` asks the kernel for the imbalance of some spreads over so many
/// nodes.
///
/// # Errors
/// The kernel's.
pub fn forecast<E>(
    question: &Question,
    environment: Environment,
    mut kernel: Option<impl FnMut(u32) -> Result<Vec<f64>, E>>,
) -> Result<Forecast, E> {
    let mut random = Random::new(question.seed);
    let (mut rows, mut is_like_chance) = (Vec::new(), None);
    for nodes in question.failed + 1..=question.nodes {
        let living = nodes - question.failed;
        let throws =
            (0..THROWS).map(|_| thrown(question.group, living, question.flows, &mut random));
        let throws: Vec<f64> = throws.collect();
        let at = |share| quantile(&throws, share);
        let own = kernel.as_mut().map(|ask| ask(living)).transpose()?;
        let own = own.map(|spreads| quantile(spreads, 0.5));
        if let Some(own) = own {
            let is_like = (at(LIKE_CHANCE.0)..=at(LIKE_CHANCE.1)).contains(&own);
            *is_like_chance.get_or_insert(true) &= is_like;
        }
        let carries = |imbalance: f64| f64::from(living) * question.rate / imbalance;
        rows.push(Row {
            nodes,
            living,
            imbalance_p50: at(0.5),
            imbalance_p99: at(0.99),
            imbalance_kernel: own,
            carries_p99: carries(at(0.99)),
            carries_p50: carries(at(0.5)),
        });
    }
    let needs = |load: f64| rows.iter().find(|row| row.carries_p99 >= load);
    Ok(Forecast {
        schema: SCHEMA,
        environment,
        node_per_second: question.rate,
        flows: question.flows,
        failed: question.failed,
        group: question.group,
        load_per_second: question.load,
        needs_nodes: question.load.and_then(needs).map(|row| row.nodes),
        kernel_is_like_chance: is_like_chance,
        assumptions: ASSUMPTIONS.to_vec(),
        rows,
    })
}

/// The imbalance of flows that fall on nodes by chance.
pub fn thrown(group: Group, nodes: u32, flows: u32, random: &mut Random) -> f64 {
    let places = match group {
        Group::Resilient => BUCKETS.max(nodes),
        Group::Plain => nodes,
    };
    let mut counts = vec![0; nodes as usize];
    for _ in 0..flows {
        counts[random.below(places as usize) % nodes as usize] += 1;
    }
    imbalance(&counts)
}

/// The fullest against the mean.
pub fn imbalance(counts: &[u32]) -> f64 {
    let (most, sum) = (counts.iter().max(), counts.iter().sum::<u32>());
    let mean = f64::from(sum) / counts.len() as f64;
    most.map_or(f64::NAN, |&most| f64::from(most) / mean)
}

#[cfg(test)]
#[path = "../tests/unit/forecast.rs"]
mod tests;
