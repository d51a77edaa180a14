//! The way of a packet, for people: a line for each step.

use report::Table;
use serde_json::Value;

/// The answer as text.
pub(super) fn text(value: &Value) -> String {
    let mut table = Table::new("").texts(["step", "what"]);
    for (step, what) in steps(value) {
        table.push([step.to_owned(), what]);
    }
    let differences = value["differences"].as_array().into_iter().flatten();
    let differences =
        differences.map(|difference| ["\nDIFFERENT: ", &word(difference), "\n"].concat());
    let differences: String = differences.collect();
    format!("{}\n\n{}{differences}", ended(value), table.to_text())
}

fn ended(value: &Value) -> String {
    let fate = word(&value["fate"]);
    match value["reason"]["name"].as_str() {
        Some(reason) => format!("{fate}: {reason}"),
        None => match value["next_hop"]["egress"].as_str() {
            Some(egress) => format!("{fate} by {egress}"),
            None => fate,
        },
    }
}

/// Each step with what it says, in the packet's order.
fn steps(value: &Value) -> Vec<(&'static str, String)> {
    let mut steps = Vec::new();
    let mut add = |step, what: Option<String>| {
        if let Some(what) = what {
            steps.push((step, what));
        }
    };
    let (frame, next_hop) = (&value["frame"], &value["next_hop"]);
    let (engine, mode) = (word(&value["engine"]), word(&value["mode"]));
    add(
        "port",
        Some(format!("{} ({engine}, {mode})", word(&frame["port"]))),
    );
    add("frame", Some(link(frame)));
    add("packet", packet(frame));
    if !frame["to"].is_null() {
        let vrf = value["vrf"].as_str().map(|vrf| format!(" ({vrf})"));
        let table = word(&value["table"]);
        add("table", Some(format!("{table}{}", vrf.unwrap_or_default())));
    }
    add("prefix", prefix(&value["prefix"]));
    add("next hop", there(next_hop).map(hop));
    add("group", there(&next_hop["group"]).map(group));
    add(
        "neighbour",
        there(&next_hop["mac"]).map(|_| neighbour(next_hop)),
    );
    let limit = next_hop["mtu"].as_u64().filter(|&mtu| mtu != 0);
    add("MTU", limit.map(|mtu| format!("{mtu} bytes")));
    add("rewrite", there(&value["rewrite"]).map(rewrite));
    add("egress", there(&next_hop["egress"]).map(word));
    if let Some(reason) = there(&value["reason"]) {
        add("reason", Some(word(&reason["name"])));
        add("meaning", Some(word(&reason["meaning"])));
        add("decided by", Some(word(&reason["decided_by"])));
        add("remedy", there(&reason["remedy"]).map(word));
    }
    for lost in value["behind"].as_array().into_iter().flatten() {
        let [name, frames, meaning, remedy] =
            ["name", "frames", "meaning", "remedy"].map(|key| word(&lost[key]));
        let said = format!("{name}, {frames} frames of this port so far: {meaning} {remedy}");
        add("behind it", Some(said));
    }
    add("the kernel then", there(&value["then"]).map(word));
    add("the kernel's look-up", there(&value["kernel"]).map(kernel));
    steps
}

fn there(value: &Value) -> Option<&Value> {
    (!value.is_null()).then_some(value)
}

fn word(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn tag(vlan: &Value) -> String {
    there(vlan).map_or_else(|| "untagged".to_owned(), |vlan| format!("VLAN {vlan}"))
}

fn link(frame: &Value) -> String {
    let (from, to) = (word(&frame["source_mac"]), word(&frame["destination_mac"]));
    format!("from {from} to {to}, {}", tag(&frame["vlan"]))
}

fn packet(frame: &Value) -> Option<String> {
    let to = there(&frame["to"])?;
    let ports = there(&frame["source_port"]).map(|from| {
        let to = &frame["destination_port"];
        format!(", ports {from} to {to}")
    });
    Some(format!(
        "from {} to {}, protocol {}{}, {} bytes, {} hops left",
        word(&frame["from"]),
        word(to),
        frame["protocol"],
        ports.unwrap_or_default(),
        frame["length"],
        frame["ttl"]
    ))
}

fn prefix(prefix: &Value) -> Option<String> {
    let text = there(&prefix["prefix"])?;
    let ways = prefix["via"].as_array().into_iter().flatten();
    let ways = ways.map(|way| {
        let link = word(&way["link"]);
        there(&way["gateway"]).map_or_else(
            || format!(", on {link}"),
            |gateway| format!(", via {} on {link}", word(gateway)),
        )
    });
    let ways: String = ways.collect();
    let (kind, metric) = (word(&prefix["kind"]), &prefix["metric"]);
    Some(format!("{}: {kind}, metric {metric}{ways}", word(text)))
}

fn hop(next_hop: &Value) -> String {
    let group = &next_hop["group"];
    let number = if group.is_null() {
        &next_hop["number"]
    } else {
        &group["member"]
    };
    format!("{} ({})", word(number), word(&next_hop["kind"]))
}

fn group(group: &Value) -> String {
    let (buckets, members) = (&group["buckets"], &group["members"]);
    let flow = there(&group["hash"]).map_or_else(
        || "only the kernel can tell its flows apart".to_owned(),
        |hash| format!("hash {hash} takes bucket {}", group["bucket"]),
    );
    format!("{buckets} buckets for {members} next hops; {flow}")
}

fn neighbour(next_hop: &Value) -> String {
    let mac = word(&next_hop["mac"]);
    let address = there(&next_hop["neighbour"]).map(|address| format!("{} at ", word(address)));
    let state = there(&next_hop["state"]).map(|state| format!(", {}", word(state)));
    format!(
        "{}{mac}{}",
        address.unwrap_or_default(),
        state.unwrap_or_default()
    )
}

fn rewrite(rewrite: &Value) -> String {
    format!(
        "from {} to {}, {}, {} hops left",
        word(&rewrite["source_mac"]),
        word(&rewrite["destination_mac"]),
        tag(&rewrite["vlan"]),
        rewrite["ttl"]
    )
}

fn kernel(kernel: &Value) -> String {
    let more = ["egress", "gateway", "error"];
    let more = more.iter().filter_map(|key| there(&kernel[key]));
    let words: Vec<String> = more.map(word).collect();
    format!("{} {}", word(&kernel["answer"]), words.join(" "))
        .trim_end()
        .to_owned()
}
