//! From rates to ratios, and beside each what it must and should be.

use report::Table;

use super::Rates;

/// A ratio that is looked at: what, its two sides, what it must be and what it should be.
struct Claim {
    what: &'static str,
    family: &'static str,
    ours: (&'static str, usize),
    other: (&'static str, usize),
    must: f64,
    goal: f64,
}

const CLAIMS: [Claim; 8] = [
    claim(
        "xdp against Linux, IPv4",
        "IPv4",
        ("xdp", 1),
        ("linux", 1),
        3.5,
        5.0,
    ),
    claim(
        "xdp against Linux, IPv6",
        "IPv6",
        ("xdp", 1),
        ("linux", 1),
        3.5,
        5.0,
    ),
    claim(
        "xdp against xdp-kernel-fib, IPv4",
        "IPv4",
        ("xdp", 1),
        ("xdp-kernel-fib", 1),
        2.3,
        3.2,
    ),
    claim(
        "xdp against xdp-kernel-fib, IPv6",
        "IPv6",
        ("xdp", 1),
        ("xdp-kernel-fib", 1),
        2.3,
        3.2,
    ),
    claim(
        "the same on two cores, IPv4",
        "IPv4",
        ("xdp", 2),
        ("xdp-kernel-fib", 2),
        2.3,
        3.2,
    ),
    claim(
        "xdp: two cores against one, IPv4",
        "IPv4",
        ("xdp", 2),
        ("xdp", 1),
        1.85,
        1.95,
    ),
    claim(
        "af-xdp against testpmd macswap, IPv4",
        "IPv4",
        ("af-xdp", 1),
        ("testpmd", 1),
        1.0,
        1.3,
    ),
    claim(
        "af-xdp against testpmd macswap, IPv6",
        "IPv6",
        ("af-xdp", 1),
        ("testpmd", 1),
        1.0,
        1.3,
    ),
];

const fn claim(
    what: &'static str,
    family: &'static str,
    ours: (&'static str, usize),
    other: (&'static str, usize),
    must: f64,
    goal: f64,
) -> Claim {
    Claim {
        what,
        family,
        ours,
        other,
        must,
        goal,
    }
}

/// Lowest, middle and highest.
struct Spread {
    low: f64,
    middle: f64,
    high: f64,
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (&low, &high) = (values.first()?, values.last()?);
        let middle = f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2]);
        Some(Self { low, middle, high })
    }
}

impl Claim {
    /// The ratio within each round.
    fn ratio(&self, rates: &Rates) -> Option<Spread> {
        let side = |(engine, count)| rates.get(&(self.family, engine, count));
        let (ours, other) = (side(self.ours)?, side(self.other)?);
        Spread::of(ours.iter().zip(other).map(|(a, b)| a / b).collect())
    }
}

/// Prints the rates and the ratios.
pub(crate) fn print(rates: &Rates) {
    let mut table = Table::new("Frames a second, all of them through the router")
        .text("family")
        .text("engine")
        .number("generators")
        .number("M/s median")
        .number("lowest")
        .number("highest");
    for ((family, engine, count), values) in rates {
        if let Some(spread) = Spread::of(values.clone()) {
            let cells =
                [spread.middle, spread.low, spread.high].map(|rate| format!("{:.3}", rate / 1e6));
            let words = [
                (*family).to_owned(),
                (*engine).to_owned(),
                count.to_string(),
            ];
            table.push(words.into_iter().chain(cells));
        }
    }
    println!("\n{}", table.to_text());
    let mut table = Table::new("Ratios within a round")
        .text("what")
        .number("must")
        .number("goal")
        .number("median")
        .number("lowest")
        .number("highest")
        .text("");
    for claim in &CLAIMS {
        let Some(spread) = claim.ratio(rates) else {
            continue;
        };
        let word = if spread.middle >= claim.goal {
            "goal"
        } else if spread.middle >= claim.must {
            "must"
        } else {
            "missed"
        };
        let cells = [
            claim.must,
            claim.goal,
            spread.middle,
            spread.low,
            spread.high,
        ];
        let cells = cells.map(|ratio| format!("{ratio:.2}"));
        table.push(
            [claim.what.to_owned()]
                .into_iter()
                .chain(cells)
                .chain([word.to_owned()]),
        );
    }
    println!("{}", table.to_text());
}

/// The rates of every round and the medians of the ratios.
pub(crate) fn json(rates: &Rates) -> String {
    let rows = rates.iter().map(|((family, engine, generators), values)| {
        serde_json::json!({
            "family": family, "engine": engine, "generators": generators,
            "frames_per_second": values
        })
    });
    let claims = CLAIMS.iter().filter_map(|claim| {
        let spread = claim.ratio(rates)?;
        Some(serde_json::json!({
            "what": claim.what, "must": claim.must, "goal": claim.goal,
            "median": spread.middle, "lowest": spread.low, "highest": spread.high,
        }))
    });
    let page = serde_json::json!({
        "schema": "corelane-bench-router/2",
        "rates": rows.collect::<Vec<_>>(),
        "ratios": claims.collect::<Vec<_>>(),
    });
    format!("{page}\n")
}
