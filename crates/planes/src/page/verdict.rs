//! The comparison in sentences.

use report::units::prefixed;

use super::words::{percent, time};
use crate::cause::NOTICED;
use crate::deployment::Variant;
use crate::guest::BOOT_BOUND;
use crate::result::{Cause, Cell, Change, ChannelShare, Comparison, Measure, Plane, Protocol};

/// Who disturbs whom: where requests take most of the user plane's throughput, and where packets
/// lengthen responses most.
pub(super) fn answer(comparison: &Comparison) -> Vec<String> {
    let variants = comparison.variants().into_iter();
    let planes: Vec<(Variant, Planes)> = variants
        .filter_map(|variant| Some((variant, Planes::of(comparison, variant)?)))
        .collect();
    let responses = planes.iter().filter_map(|(variant, planes)| {
        let [alone, beside] = planes.response?;
        Some((*variant, beside / alone - 1.0))
    });
    let responses: Vec<(Variant, f64)> = responses.collect();
    // A change whose interval holds none is none.
    let clear = |change: Change| {
        if change.high < 0.0 {
            -change.share
        } else {
            0.0
        }
    };
    let told = planes
        .iter()
        .filter_map(|(variant, planes)| Some((*variant, planes.change?)));
    let taken: Vec<(Variant, f64)> = told.map(|(of, change)| (of, clear(change))).collect();
    let noticed = format!("{:.0} %", NOTICED * 100.0);
    let packets = most(&taken).map(|(variant, share, below)| match variant {
        None => format!(
            "Requests take no {noticed} of the user plane's throughput that stand clear of \
             none{below}."
        ),
        Some(variant) => format!(
            "Requests take {:.0} % of the user plane's throughput with {variant}, and no {noticed} \
             that stand clear of none{below}.",
            share * 100.0
        ),
    });
    let untold = planes.len() - taken.len();
    let untold = (untold > 0).then(|| {
        format!(
            "What requests take of the user plane's throughput cannot be told in {untold} of {} \
             cases: fewer than five pairs of searches count.",
            planes.len()
        )
    });
    let requests = most(&responses).map(|(variant, share, below)| match variant {
        None => {
            format!("Packets lengthen a request's median response by less than {noticed}{below}.")
        }
        Some(variant) => format!(
            "Packets make a request's median response {:.1} times as long with {variant}, and less \
             than {noticed} longer{below}.",
            share + 1.0
        ),
    });
    packets.into_iter().chain(untold).chain(requests).collect()
}

/// Where the share is largest, if it is noticed; that share; and in how many of all it is not.
fn most(shares: &[(Variant, f64)]) -> Option<(Option<Variant>, f64, String)> {
    let &(variant, share) = shares.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let below = shares.iter().filter(|(_, share)| *share < NOTICED).count();
    let below = format!(" in {below} of {} cases", shares.len());
    Some(((share >= NOTICED).then_some(variant), share, below))
}

/// What a variant's planes do at the smallest payload.
struct Planes {
    payload: u32,
    /// The user plane's throughput alone, bits a second.
    alone: f64,
    /// What requests change of it, where enough pairs of searches count.
    change: Option<Change>,
    /// A request's median response, milliseconds: alone, and beside packets.
    response: Option<[f64; 2]>,
}

impl Planes {
    fn of(comparison: &Comparison, variant: Variant) -> Option<Self> {
        let payload = comparison
            .cells_of(variant, Plane::User, Protocol::Udp)
            .map(|cell| cell.payload_bytes)
            .min()?;
        let user = |load| comparison.cell(variant, Plane::User, payload, load);
        let response = |bytes, load| {
            comparison
                .cell(variant, Plane::Management, bytes, load)?
                .response_p50_ms
        };
        let responses = response(0, false).zip(response(payload, true));
        Some(Self {
            payload,
            alone: user(false)?.throughput_bps?,
            change: user(true)?.change,
            response: responses.map(Into::into),
        })
    }
}

/// One sentence for every deployment and mode, one for every cause, one for the guests.
pub(super) fn evidence(comparison: &Comparison) -> Vec<String> {
    let mut sentences = Vec::new();
    for variant in comparison.variants() {
        sentences.extend(influence(comparison, variant));
    }
    sentences.extend(comparison.causes.iter().map(explanation));
    sentences.extend(comparison.guests.clone());
    sentences.extend(boots(comparison));
    sentences
}

/// How long guests took to boot, held against what they may take.
fn boots(comparison: &Comparison) -> Option<String> {
    let times = comparison.channels.iter().filter_map(|of| of.boot_seconds);
    let slowest = times.max_by(f64::total_cmp)?;
    let bound = BOOT_BOUND.as_secs_f64();
    let held = if slowest > bound {
        "later than"
    } else {
        "within"
    };
    Some(format!(
        "The slowest guest was up after {slowest:.2} s, {held} the {bound:.0} s that it may take."
    ))
}

/// One sentence for every cell whose trials the tester had something to say of.
pub(super) fn remarks(comparison: &Comparison) -> Vec<String> {
    let sentence = |cell: &Cell| {
        let (variant, payload, remark) = (cell.variant, cell.payload_bytes, cell.remark.as_ref()?);
        let beside = if cell.other_plane_load {
            " beside requests"
        } else {
            ""
        };
        Some(format!("{variant}, {payload} bytes{beside}: {remark}."))
    };
    comparison.cells.iter().filter_map(sentence).collect()
}

/// "AMP, packets in kernel, 64 bytes: requests take 12 % of the user plane's throughput; packets …"
fn influence(comparison: &Comparison, variant: Variant) -> Option<String> {
    let planes = Planes::of(comparison, variant)?;
    let requests = match planes.response {
        Some([alone, beside]) => format!(
            "; packets {} a request's median response ({alone:.1} to {beside:.1} ms)",
            if beside > alone * (1.0 + NOTICED) {
                "lengthen"
            } else {
                "do not lengthen"
            }
        ),
        None => String::new(),
    };
    Some(format!(
        "{variant}, {} bytes: {} alone; {}{requests}.",
        planes.payload,
        prefixed(planes.alone, "bit/s"),
        throughput(planes.change),
    ))
}

/// What requests change of the throughput.
fn throughput(change: Option<Change>) -> String {
    let Some(Change {
        share, low, high, ..
    }) = change
    else {
        return "what requests take of the user plane's throughput cannot be told".to_owned();
    };
    let [share, low, high] = [share, low, high].map(|of| of * 100.0);
    if high < 0.0 {
        let (least, most) = (-high, -low);
        format!(
            "requests take {:.0} % ({least:.0} to {most:.0}) of the user plane's throughput",
            -share
        )
    } else if low > 0.0 {
        format!("requests add {share:.0} % ({low:.0} to {high:.0}) to the user plane's throughput")
    } else {
        format!(
            "what requests change of the user plane's throughput is not clear ({low:+.0} to \
             {high:+.0} %)"
        )
    }
}

/// "AMP, packets in kernel: requests lengthen the user plane's delay (p99 80 µs to 3.2 ms); of that
/// waiting for the core 60 % …"
fn explanation(cause: &Cause) -> String {
    let what = match cause.measure {
        Measure::Loss => format!(
            "requests lose frames of the user plane ({} to {})",
            percent(cause.alone),
            percent(cause.beside)
        ),
        Measure::DelayP99 => format!(
            "requests lengthen the user plane's delay (p99 {} to {})",
            time(cause.alone),
            time(cause.beside)
        ),
        Measure::Response => format!(
            "packets lengthen the management plane's response ({:.1} to {:.1} ms)",
            cause.alone, cause.beside
        ),
    };
    let mut clear: Vec<&ChannelShare> = cause.channels.iter().filter(|of| of.clear).collect();
    clear.sort_by(|a, b| b.share.total_cmp(&a.share));
    let (counted, parts): (Vec<&ChannelShare>, Vec<&ChannelShare>) =
        clear.into_iter().partition(|of| of.counts);
    let list = |channels: &[&ChannelShare]| {
        let words: Vec<String> = channels
            .iter()
            .map(|of| {
                format!(
                    "{} {} ({} to {})",
                    of.channel,
                    percent(of.share),
                    percent(of.low),
                    percent(of.high)
                )
            })
            .collect();
        words.join(", ")
    };
    let rest = if counted.is_empty() {
        format!(
            "none of {} interventions whose shares add up stands clear of its control, 100 % \
             remain unexplained",
            cause.channels.iter().filter(|of| of.counts).count()
        )
    } else if cause.explained > 1.0 {
        format!(
            "through {}; the shares overlap and add up to {}, nothing remains",
            list(&counted),
            percent(cause.explained)
        )
    } else {
        format!(
            "through {}; {} remain unexplained",
            list(&counted),
            percent(cause.remainder)
        )
    };
    let parts = if parts.is_empty() {
        String::new()
    } else {
        format!("; by themselves: {}", list(&parts))
    };
    format!("{}: {what}, {rest}{parts}.", cause.variant)
}

#[cfg(test)]
#[path = "../../tests/unit/verdict.rs"]
mod tests;
