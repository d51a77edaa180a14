//! Engine `af-packet`: our workers in user space, on packet sockets.
//!
//! Workers run on threads of their own and sockets drop what comes too fast, so the rate is found by RFC 2544's search: the highest
//! one offered at which the frames arrive.

use std::time::Duration;

use fib::NextHop;
use fib::organisation::{Change, Options, Organisation, PerCore, Shared};
use host::CoreId;
use report::units::grouped;
use router::user_plane::packet_engine::PacketEngine;
use tester::search::{Bisection, Limit, TrialOutcome};

use super::Error;
use super::bench::{Bench, GRACE, NEXT_HOPS, Offered, Paced};
use super::case::{Case, Sample, Table};
use super::engine::{Abilities, Engine, Setting};
use super::routes::Routes;

/// Trials of a search, about.
const TRIALS: u32 = 10;
/// Starting workers, making generators, emptying queues.
const OVERHEAD: Duration = Duration::from_millis(100);
/// Only every so many rounds are measured: a search takes long.
const EVERY: usize = 2;
/// Not all frame sizes, for the same reason: what a packet socket costs hardly depends on them.
const SIZES: [u32; 3] = [64, 512, 1518];
/// Shortest trial: sockets buffer some milliseconds.
const TRIAL_MIN: Duration = Duration::from_millis(60);
/// Longest trial.
const TRIAL_MAX: Duration = Duration::from_millis(100);
/// The search ends when its bounds are this close.
const RESOLUTION: f64 = 0.05;
/// Smallest rate worth a trial, frames a second.
const STEP: f64 = 1_000.0;
/// First guess at the rate, frames a second.
const FIRST_GUESS: f64 = 200_000.0;
/// A search begins this much above the rate found last.
const ABOVE: f64 = 1.25;
/// Searches begun anew: because the range was too low, or nothing passed.
const RETRIES: usize = 10;
/// Tries of a rate that fails before it counts as failed.
const REPEATS: u32 = 2;
/// Share of the frames that may be lost: on busy cores single frames were, at very different rates; where they go is not known.
const LOSS: f64 = 0.001;
/// A trial in which less than this share of the frames was sent in time says what the generator can do, not what workers can.
const OFFERED: f64 = 0.98;
/// Frames of this much time may still be on their way when sending has ended; more than that has been building up.
const ON_THE_WAY: Duration = Duration::from_millis(2);

struct Sockets {
    shared: Shared,
    per_core: PerCore,
    bench: Bench,
    paced: Paced,
    cores: Vec<CoreId>,
    /// The rate found last, by number of workers from 1.
    expected: Vec<f64>,
    sent: u64,
    trials: u64,
}

/// Makes the namespaces and fills a table of each organisation.
///
/// # Errors
/// When the namespaces cannot be made or the tables not filled.
pub(crate) fn open(setting: &Setting) -> Result<Box<dyn Engine>, Error> {
    let bench = Bench::new("af-packet", setting.cores, &setting.routes.destinations)?;
    // What workers forward the kernel must not forward too.
    bench.dut().set("net.ipv4.ip_forward", "0")?;
    let changes = changes(&bench, setting.routes, setting.seed);
    let options = Options::for_workers(setting.cores.len());
    let shared = Shared::new(&options)?;
    shared.apply(&changes)?;
    host::cleanup::check()?;
    let per_core = PerCore::new(&options)?;
    per_core.apply(&changes)?;
    host::cleanup::check()?;
    Ok(Box::new(Sockets {
        shared,
        per_core,
        bench,
        paced: Paced::default(),
        cores: setting.cores.to_vec(),
        expected: vec![FIRST_GUESS; setting.cores.len()],
        sent: 0,
        trials: 0,
    }))
}

/// Next hops and all routes of both families, next hops given out at random.
fn changes(bench: &Bench, routes: &Routes, seed: u64) -> Vec<Change> {
    let prefixes = &routes.prefixes;
    let given_out =
        fib::generated::next_hops(seed, prefixes.v4.len() + prefixes.v6.len(), NEXT_HOPS);
    let (hops_v4, hops_v6) = given_out.split_at(prefixes.v4.len());
    let hops = (1..=NEXT_HOPS).map(|number| Change::NextHop(NextHop(number), bench.adjacency()));
    let v4 = prefixes.v4.iter().zip(hops_v4);
    let v6 = prefixes.v6.iter().zip(hops_v6);
    hops.chain(v4.map(|(&prefix, &hop)| Change::V4(prefix, hop)))
        .chain(v6.map(|(&prefix, &hop)| Change::V6(prefix, hop)))
        .collect()
}

impl Engine for Sockets {
    fn abilities(&self) -> Abilities {
        Abilities {
            name: "af-packet",
            tables: &[Table::Shared, Table::PerCore],
            sizes: &SIZES,
            most_workers: self.cores.len(),
            takes_changes: false,
            trials: TRIALS,
            overhead: OVERHEAD,
            every: EVERY,
        }
    }

    fn method(&self) -> String {
        format!(
            "Our workers in user space, on packet sockets, between veth pairs as before. Generator, workers and sink share the cores. A \
             flood would outrun the sockets, so the rate is searched for as RFC 2544's throughput is, but not as strictly: the highest \
             rate offered at which at most {} % of the frames were lost (RFC 2544: none; on shared cores single frames were lost at \
             very different rates) and all others had arrived {} ms after the last was sent or were at most {} ms of the load, found to within \
             {:.0} % in trials of {} to {} ms (RFC 2544: 60 s), a failed one repeated once. Every second round, three frame sizes. In all \
             {} frames were sent in {} trials.",
            LOSS * 100.0,
            GRACE.as_millis(),
            ON_THE_WAY.as_millis(),
            RESOLUTION * 100.0,
            TRIAL_MIN.as_millis(),
            TRIAL_MAX.as_millis(),
            grouped(self.sent),
            grouped(self.trials)
        )
    }

    fn measure(&mut self, case: &Case, trial: Duration) -> Result<Sample, Error> {
        let cores = &self.cores[..case.workers];
        let ports = [&self.bench.ingress, &self.bench.egress];
        let names = ports.map(|end| end.interface.as_str());
        let started = self.bench.dut().enter(|| match case.table {
            Table::PerCore => PacketEngine::start(&self.per_core, &names, cores),
            _ => PacketEngine::start(&self.shared, &names, cores),
        });
        let workers = started??;
        let found = self.search(case, trial.clamp(TRIAL_MIN, TRIAL_MAX));
        // Why a worker has ended explains why nothing was found.
        workers.stop()?;
        Ok(Sample {
            frames_per_second: found?,
            changes_per_second: 0.0,
        })
    }
}

impl Sockets {
    /// The throughput, frames a second.
    fn search(&mut self, case: &Case, length: Duration) -> Result<f64, Error> {
        let mut high = self.expected[case.workers - 1] * ABOVE;
        let mut highest = None;
        for _ in 0..RETRIES {
            let search = Bisection {
                step: STEP,
                repeats: REPEATS,
                confirmations: 0,
                follow_hints: true,
                ..Bisection::new(high, RESOLUTION)
            };
            let mut failure = None;
            let found = search.run(|probe| {
                self.trial(case, probe.amount, length)
                    .unwrap_or_else(|error| {
                        failure = Some(error);
                        TrialOutcome::Stop
                    })
            });
            if let Some(error) = failure {
                return Err(error);
            }
            highest = found.lower.or(highest);
            if let Some(rate) = found.lower {
                self.expected[case.workers - 1] = rate;
                if found.limit != Limit::Range {
                    break;
                }
                high = rate * ABOVE;
            }
        }
        highest.ok_or_else(|| {
            "no rate was found at which the frames arrive; run again on a quieter machine".into()
        })
    }

    fn trial(
        &mut self,
        case: &Case,
        rate: f64,
        length: Duration,
    ) -> Result<TrialOutcome<f64>, Error> {
        let load = (case.frame_bytes, case.workers);
        let offered = self.paced.offer(&self.bench, load, rate, length)?;
        self.sent += offered.sent;
        self.trials += 1;
        Ok(judge(&offered, rate))
    }
}

/// What a trial says about the rate it was to offer.
fn judge(offered: &Offered, rate: f64) -> TrialOutcome<f64> {
    let seconds = offered.elapsed.as_secs_f64();
    let sent = offered.sent as f64 / seconds;
    let waiting = offered.sent.saturating_sub(offered.in_time) as f64;
    let lost = offered.sent.saturating_sub(offered.arrived) as f64;
    if lost > offered.sent as f64 * LOSS || waiting > rate * ON_THE_WAY.as_secs_f64() {
        TrialOutcome::Fail {
            carried: Some(offered.in_time as f64 / seconds),
        }
    } else if sent < rate * OFFERED {
        TrialOutcome::Invalid {
            offered: Some(sent),
        }
    } else {
        TrialOutcome::Pass
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(sent: u64, arrived: u64, in_time: u64, milliseconds: u64) -> Offered {
        Offered {
            sent,
            arrived,
            in_time,
            elapsed: Duration::from_millis(milliseconds),
        }
    }

    #[test]
    fn a_thousandth_may_be_lost_and_no_more() {
        let passed = judge(&offered(10_000, 9_990, 9_990, 100), 1e5);
        assert_eq!(passed, TrialOutcome::Pass);
        let failed = judge(&offered(10_000, 9_989, 9_989, 100), 1e5);
        assert_eq!(
            failed,
            TrialOutcome::Fail {
                carried: Some(99_890.0)
            }
        );
    }

    #[test]
    fn a_growing_queue_fails_though_nothing_is_lost() {
        let passed = judge(&offered(10_000, 10_000, 9_800, 100), 1e5);
        assert_eq!(passed, TrialOutcome::Pass);
        let failed = judge(&offered(10_000, 10_000, 9_799, 100), 1e5);
        assert!(matches!(failed, TrialOutcome::Fail { .. }), "{failed:?}");
    }

    #[test]
    fn a_rate_that_was_not_offered_proves_nothing() {
        let outcome = judge(&offered(10_000, 10_000, 10_000, 125), 1e5);
        assert_eq!(
            outcome,
            TrialOutcome::Invalid {
                offered: Some(80_000.0)
            }
        );
    }
}
