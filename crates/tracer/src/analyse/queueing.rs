//! What queueing theory says about a lock: a closed network with one queue for each lock and time
//! to think between.
//!
//! Exact mean value analysis (Reiser and Lavenberg 1980) and the asymptotic bounds (Denning and
//! Buzen 1978). Service times are taken as exponential, as the theory must; real critical sections
//! vary less and wait less, so an estimate from the theory is one end of an interval here and the
//! bound is the other.

/// What the theory gives for one number of threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solution {
    /// Operations in a unit of time.
    pub throughput: f64,
    /// Share of the time that the busiest queue's server is busy.
    pub utilisation: f64,
}

/// Solves a network of `threads` threads that think for `think` and then visit queues with the
/// given `demands`.
pub fn solve(demands: &[f64], think: f64, threads: usize) -> Solution {
    let mut queues = vec![0.0; demands.len()];
    let mut throughput = 0.0;
    for number in 1..=threads {
        let times: Vec<f64> = demands
            .iter()
            .zip(&queues)
            .map(|(demand, queue)| demand * (1.0 + queue))
            .collect();
        let cycle = think + times.iter().sum::<f64>();
        if cycle <= 0.0 {
            return Solution {
                throughput: f64::INFINITY,
                utilisation: 1.0,
            };
        }
        throughput = number as f64 / cycle;
        for (queue, time) in queues.iter_mut().zip(&times) {
            *queue = throughput * time;
        }
    }
    let busiest = demands.iter().copied().fold(0.0, f64::max);
    Solution {
        throughput,
        utilisation: (throughput * busiest).min(1.0),
    }
}

/// How many acquisitions there were in all, when `visible` ones had to wait, each held the lock for
/// `hold`, and the `threads` ran for `ran` in all.
///
/// An arriving thread finds the lock taken as often as the lock is busy with the other threads
/// alone (the arrival theorem); the number of acquisitions is the one for which that probability
/// gives the visible ones. `None` without data.
pub fn acquisitions(visible: f64, hold: f64, ran: f64, threads: usize) -> Option<f64> {
    if visible < 1.0 || hold <= 0.0 || ran <= visible * hold || threads < 2 {
        return None;
    }
    let excess = |all: f64| {
        visible / all - solve(&[hold], (ran / all - hold).max(0.0), threads - 1).utilisation
    };
    let (mut low, mut high) = (visible, ran / hold);
    if excess(low) <= 0.0 {
        return Some(low);
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if excess(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(f64::midpoint(low, high))
}
