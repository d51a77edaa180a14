use std::collections::BTreeSet;

use super::*;

/// What the document lists under a heading, one item a line.
fn listed(heading: &str) -> BTreeSet<String> {
    let text = include_str!("../../../../docs/tester.md");
    let (_, section) = text.split_once(heading).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let mut items: Vec<String> = Vec::new();
    for line in section.lines() {
        match (line.strip_prefix("- "), line.strip_prefix("  ")) {
            (Some(item), _) => items.push(item.to_owned()),
            (None, Some(more)) => items.last_mut().unwrap().extend([" ", more]),
            (None, None) => {}
        }
    }
    let without_stop = |item: String| item.trim_end_matches([';', '.']).to_owned();
    items.into_iter().map(without_stop).collect()
}

#[test]
fn the_document_lists_every_deviation_of_the_full_profile_and_no_other() {
    let declared: BTreeSet<String> = of(&Profile::RFC_2544, &Traffic::default())
        .into_iter()
        .collect();
    assert_eq!(listed("## Deviations from the RFCs"), declared);
}

#[test]
fn the_quick_profile_has_all_of_them() {
    let declared = of(&Profile::QUICK, &Traffic::default());
    assert_eq!(declared.len(), TABLE.len() + 1);
}

#[test]
fn the_ports_that_are_sent_are_those_declared() {
    let said = |random_ports| {
        let traffic = Traffic {
            random_ports,
            ..Traffic::default()
        };
        of(&Profile::RFC_2544, &traffic).join("; ")
    };
    assert!(said(false).contains("not pseudorandom ones (RFC 4814 §4.5)"));
    assert!(said(true).contains("UDP ports are pseudorandom (RFC 4814 §4.5)"));
}
