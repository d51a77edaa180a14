//! Every difference to the RFCs' procedures: one table, from which the report and the documents
//! take their words.

use host::favour::Urgent;

use crate::profile::Profile;
use crate::session::{LENGTHENINGS, RFC_SECONDS};
use crate::traffic::Traffic;

/// A difference, if there is one with this profile, with the clause that it differs from.
type Deviation = fn(&Profile) -> Option<String>;

/// All of them, lengths and numbers of trials first.
const TABLE: [Deviation; 21] = [
    |profile| {
        shorter(
            profile.final_seconds,
            RFC_SECONDS,
            "deciding trials",
            "2544 §24",
        )
    },
    |profile| shorter(profile.loss_seconds, RFC_SECONDS, "loss trials", "2544 §24"),
    |profile| {
        shorter(
            profile.latency_seconds,
            120.0,
            "latency streams",
            "2544 §26.2",
        )
    },
    |profile| {
        let overload = profile.recovery_seconds.0;
        shorter(overload, 60.0, "overload before recovery", "2544 §26.5")
    },
    |profile| {
        let before = profile.reset_seconds.0;
        shorter(before, 15.0, "forwarding before a reset", "6201 §4")
    },
    |profile| {
        let wait = seconds(profile.waits.learning_ns);
        shorter(wait, 2.0, "wait after learning frames", "2544 §23 b")
    },
    |profile| {
        let wait = seconds(profile.waits.quiet_ns);
        let what = "wait for residual frames, once none comes";
        shorter(wait, 2.0, what, "2544 §23 d")
    },
    |profile| {
        let wait = seconds(profile.waits.residual_ns);
        let what = "longest wait for residual frames";
        shorter(wait, 2.0, what, "2544 §23 d")
    },
    |profile| {
        let wait = seconds(profile.waits.settle_ns);
        shorter(wait, 5.0, "wait between trials", "2544 §23 e")
    },
    |profile| fewer(profile.latency_repeats, 20, "latency", "2544 §26.2"),
    |profile| fewer(profile.burst_repeats, 50, "back-to-back", "2544 §26.4"),
    |profile| {
        (profile.tries > 1).then(|| {
            format!(
                "a rate is decided by up to {} trials, not by one; {} must pass, as by MLRsearch's \
                 exceed ratio (RFC 2544 §26.1)",
                profile.tries, profile.passes
            )
        })
    },
    |profile| {
        (profile.size_seconds > 0.0).then(|| {
            format!(
                "a search for the throughput at one size ends after {} s, with the bounds that it \
                 has by then (RFC 2544 §26.1)",
                profile.size_seconds
            )
        })
    },
    |profile| {
        (profile.search_seconds < RFC_SECONDS).then(|| {
            format!(
                "a lossless trial below {RFC_SECONDS} s whose delays grow by {} % of it is run longer, \
                 up to {LENGTHENINGS} times, then fails (RFC 2544 §26.1)",
                profile.resolution * 50.0
            )
        })
    },
    |profile| {
        (profile.retries > 0).then(|| {
            format!(
                "a disturbed or botched trial is repeated up to {} times, in searches not where it \
                 failed far beyond that (RFC 2544 §24)",
                profile.retries
            )
        })
    },
    |_| {
        Some(format!(
            "in trials of up to {} s the threads of tester and device in namespaces have a \
             real-time priority, in longer ones the highest weight",
            Urgent::LONGEST.as_secs_f64()
        ))
    },
    |_| Some("the wait for residual frames ends once all have come (RFC 2544 §23 d)".to_owned()),
    |_| {
        Some("no routing update frames are sent, for routes are static (RFC 2544 §23 a)".to_owned())
    },
    |_| {
        Some(
            "delays are from before a burst is queued to after it was taken in, by software: \
             neither FIFO nor LIFO (RFC 1242 §3.8)"
                .to_owned(),
        )
    },
    |_| {
        Some(
            "every frame of a latency stream is a sample, from the first on; none is tagged after \
             60 s (RFC 2544 §26.2, RFC 8219 §7.2)"
                .to_owned(),
        )
    },
    |_| {
        Some(
            "with the generator in the kernel variation is between consecutive arrivals, and has \
             no sign (RFC 5481 §4.1)"
                .to_owned(),
        )
    },
];

/// Those of a profile, and of what is sent, in words.
pub fn of(profile: &Profile, traffic: &Traffic) -> Vec<String> {
    let conduct = TABLE.iter().filter_map(|words| words(profile));
    conduct.chain(udp_ports(traffic)).collect()
}

/// Of the UDP ports of test frames.
fn udp_ports(traffic: &Traffic) -> Option<String> {
    let words = match (&traffic.replay, traffic.random_ports) {
        (Some(_), _) => return None,
        (None, false) => {
            "all frames have one pair of UDP ports, not pseudorandom ones (RFC 4814 §4.5)"
        }
        (None, true) => {
            "UDP ports are pseudorandom (RFC 4814 §4.5), not 0xC020 and 7 (RFC 2544 C.2.6.4)"
        }
    };
    Some(words.to_owned())
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn shorter(is: f64, should: f64, what: &str, clause: &str) -> Option<String> {
    (is < should).then(|| format!("{what}: {is} s instead of {should} s (RFC {clause})"))
}

fn fewer(is: u32, should: u32, what: &str, clause: &str) -> Option<String> {
    (is < should).then(|| format!("{what}: {is} repetitions instead of {should} (RFC {clause})"))
}

#[cfg(test)]
#[path = "../tests/unit/deviations.rs"]
mod tests;
