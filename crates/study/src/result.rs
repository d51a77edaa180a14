//! The result of a study: what `study.json` holds, and questions to it.

use figures::Weak;
use std::path::Path;

use dut::case::SMALLEST;
use dut::error::Error;
use dut::kind::Table;
use host::{Environment, Noise};
use serde::{Deserialize, Serialize};
use tester::profile::Profile;

use crate::against_kernel::AgainstKernel;
use crate::bare::WithoutDevice;
use crate::lock_price::LockPrice;
use crate::measure::ROUNDS_MIN;
use crate::model::Model;
use crate::no_loss::Search;
use crate::route_changes::RouteChanges;
use crate::row::{Key, Row};
use crate::speed_up::SpeedUp;
use crate::transfers::Transfers;

/// Name and version of the JSON form.
pub(crate) const SCHEMA: &str = "corelane-study/5";

/// The tables without a lock, the most telling first: what is shipped before what is tried.
pub(crate) const UNLOCKED: [Table; 4] =
    [Table::Shipped, Table::PerCore, Table::Shared, Table::Kernel];

/// Everything that `corelane study` found; tables, sentences, plots and page are functions of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Study {
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub(crate) schema: String,
    pub(crate) environment: Environment,
    pub(crate) forwarding: Vec<Row>,
    /// Cores that all workers together had: the largest number of workers.
    pub(crate) cores: usize,
    /// Interleaved rounds behind each row; those of the smallest frames without route changes have
    /// [`SpeedUp::rounds`].
    pub(crate) rounds: usize,
    /// Length of one trial in milliseconds.
    pub(crate) trial_milliseconds: f64,
    /// Where the routing table came from.
    pub(crate) routes_from: String,
    /// How each engine was measured.
    pub(crate) methods: Vec<Method>,
    /// What route changes cost.
    pub(crate) route_changes: Vec<RouteChanges>,
    /// What more workers bring.
    #[serde(default)]
    pub(crate) speed_ups: Vec<SpeedUp>,
    /// What the lock costs, apart from what goes with it.
    #[serde(default)]
    pub(crate) lock_prices: Vec<LockPrice>,
    /// How rates without loss were searched for.
    #[serde(default)]
    pub(crate) search_profile: Option<Profile>,
    /// The searches, in their order.
    #[serde(default)]
    pub(crate) searches: Vec<Search>,
    /// Generator, cable and sink alone; empty without an engine between interfaces.
    #[serde(default)]
    pub(crate) without_device: Vec<WithoutDevice>,
    /// Engines between interfaces against the kernel.
    #[serde(default)]
    pub(crate) against_kernel: Vec<AgainstKernel>,
    /// What the cores share, and a forecast from one core; `None` where that was not measured.
    pub(crate) model: Option<Model>,
    /// What programs get through each engine; `None` without one that needs a network.
    pub(crate) transfers: Option<Transfers>,
    /// What disturbed the run.
    pub(crate) noise: Noise,
    /// What the cores did, in the profiler's words; empty without root.
    #[serde(default)]
    pub(crate) traces: Vec<crate::pictures::Picture>,
    /// What was not measured, and why.
    pub(crate) left_out: Vec<String>,
}

/// How an engine was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Method {
    pub(crate) engine: String,
    pub(crate) text: String,
}

impl Study {
    /// Reads a study that was measured before.
    ///
    /// # Errors
    /// When the file cannot be read, or holds something else or another form.
    pub fn read(file: &Path) -> Result<Self, Error> {
        Ok(report::json::read(file, SCHEMA)?)
    }

    /// The engines in the order measured.
    pub(crate) fn engines(&self) -> Vec<&str> {
        distinct(self.forwarding.iter().map(|row| row.key.engine.as_str()))
    }

    /// The table organisations of `engine`, in the order measured.
    pub(crate) fn tables(&self, engine: &str) -> Vec<Table> {
        let rows = self.forwarding.iter().map(|row| &row.key);
        distinct(rows.filter(|key| key.engine == engine).map(|key| key.table))
    }

    /// The row of one case.
    pub(crate) fn row(
        &self,
        engine: &str,
        table: Table,
        workers: usize,
        frame_bytes: u32,
        changes: u64,
    ) -> Option<&Row> {
        self.rows(engine, table, workers, changes)
            .find(|row| row.key.frame_bytes == frame_bytes)
    }

    /// The row with the smallest frames and no route changes.
    pub(crate) fn smallest(&self, engine: &str, table: Table, workers: usize) -> Option<&Row> {
        self.row(engine, table, workers, SMALLEST, 0)
    }

    /// The rows of all frame sizes.
    pub(crate) fn rows(
        &self,
        engine: &str,
        table: Table,
        workers: usize,
        changes: u64,
    ) -> impl Iterator<Item = &Row> {
        self.forwarding.iter().filter(move |row| {
            (row.key.table, row.key.workers) == (table, workers)
                && row.route_changes_per_second == changes
                && row.key.engine == engine
        })
    }

    /// Why there is no evidence for figures, of all that rounds gave.
    pub(crate) fn weak(&self) -> impl Iterator<Item = Option<Weak>> {
        let rows = self.forwarding.iter().map(|row| row.weak);
        let ups = self.speed_ups.iter().map(|up| up.weak);
        let prices = self.lock_prices.iter().map(|price| price.weak);
        let changes = self.route_changes.iter().map(|cost| cost.weak);
        let searches = self.searches.iter().map(|search| search.weak);
        let against = self.against_kernel.iter().map(|against| against.weak);
        let bare = self.without_device.iter().map(|bare| bare.weak);
        let of_rounds = rows.chain(ups).chain(prices).chain(changes);
        of_rounds.chain(searches).chain(against).chain(bare)
    }

    /// How many times the frames of one worker, same engine, table and size, with the interval
    /// where rounds were compared; `None` where they are no evidence.
    pub(crate) fn speed_up_with_interval(&self, row: &Row) -> Option<(f64, Option<[f64; 2]>)> {
        if let Some(up) = self.speed_ups.iter().find(|up| row.is_quiet(&up.key)) {
            let told = up.weak.is_none();
            // The lowest and the highest of fewer hold the median too seldom.
            let interval = (up.rounds >= ROUNDS_MIN).then_some([up.low, up.high]);
            return told.then_some((up.times, interval));
        }
        let (key, changes) = (&row.key, row.route_changes_per_second);
        let one = self.row(&key.engine, key.table, 1, key.frame_bytes, changes)?;
        let told = row.weak.or(one.weak).is_none();
        Some((ratio(row, one).filter(|_| told)?, None))
    }

    /// The same without the interval.
    pub(crate) fn speed_up(&self, row: &Row) -> Option<f64> {
        self.speed_up_with_interval(row).map(|(times, _)| times)
    }

    /// The price of a lock, or of giving up none.
    pub(crate) fn lock_price(&self, table: Table, workers: usize) -> Option<&LockPrice> {
        let wanted = |key: &Key| (key.table, key.workers) == (table, workers);
        self.lock_prices.iter().find(|price| wanted(&price.key))
    }

    /// What so many cores carry without a device, where the rounds tell it.
    pub(crate) fn without_device(&self, workers: usize) -> Option<&WithoutDevice> {
        let mut all = self.without_device.iter();
        all.find(|one| one.workers == workers && one.weak.is_none())
    }

    /// How an engine compares with the kernel.
    pub(crate) fn against_kernel(
        &self,
        engine: &str,
        without_loss: bool,
    ) -> Option<&AgainstKernel> {
        let mut all = self.against_kernel.iter();
        all.find(|one| (one.engine.as_str(), one.without_loss) == (engine, without_loss))
    }

    /// The search for the rate without loss of a row.
    pub(crate) fn search(&self, row: &Row) -> Option<&Search> {
        self.searches
            .iter()
            .find(|search| row.is_quiet(&search.key))
    }

    /// The table without a lock that speaks for `engine`: the first of its [`UNLOCKED`].
    pub(crate) fn best_table(&self, engine: &str) -> Option<Table> {
        let tables = self.tables(engine);
        UNLOCKED.into_iter().find(|table| tables.contains(table))
    }

    /// What `changes` route changes a second cost this organisation.
    pub(crate) fn cost_of_changes(
        &self,
        engine: &str,
        table: Table,
        changes: u64,
    ) -> Option<&RouteChanges> {
        self.route_changes
            .iter()
            .find(|cost| cost.engine == engine && cost.table == table && cost.asked == changes)
    }

    /// The largest number of workers of `engine`.
    pub(crate) fn most_workers(&self, engine: &str) -> usize {
        self.forwarding
            .iter()
            .filter(|row| row.key.engine == engine)
            .map(|row| row.key.workers)
            .max()
            .unwrap_or(1)
    }
}

/// Each once, in the order in which they come first.
fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for one in all {
        if !distinct.contains(&one) {
            distinct.push(one);
        }
    }
    distinct
}

/// How many times the frames of `base`; `None` when that forwarded nothing.
pub(crate) fn ratio(row: &Row, base: &Row) -> Option<f64> {
    (base.frames_per_second.0 > 0.0).then(|| row.frames_per_second.0 / base.frames_per_second.0)
}
