use std::collections::BTreeSet;

use fastpath::forward::Reason;

#[test]
fn names_are_distinct_and_in_the_order_of_the_way() {
    let names: BTreeSet<_> = Reason::ALL.iter().map(|reason| reason.name()).collect();
    assert_eq!(names.len(), Reason::COUNT);
    assert!(
        Reason::ALL
            .windows(2)
            .all(|pair| pair[0].step() <= pair[1].step())
    );
    assert!(
        Reason::ALL
            .iter()
            .enumerate()
            .all(|(index, &reason)| reason as usize == index)
    );
}

const SOURCE: &str = include_str!("../bpf/reasons.h");

/// What lies between two marks of the C source.
fn between(first: &str, last: &str) -> &'static str {
    let rest = SOURCE.split_once(first).unwrap().1;
    rest.split_once(last).unwrap().0
}

fn named(word: &str) -> Reason {
    let name = word.to_lowercase().replace('_', "-");
    let known = |reason: &&Reason| reason.name() == name;
    *Reason::ALL.iter().find(known).expect(word)
}

#[test]
fn the_names_are_those_of_the_c_source_in_its_order() {
    let names = between("enum reason {", "REASONS");
    let names = names.split(',').map(str::trim);
    let theirs: Vec<_> = names.filter(|name| !name.is_empty()).map(named).collect();
    assert_eq!(theirs, Reason::ALL);
}

#[test]
fn the_fates_are_those_of_the_c_source() {
    let mut dropped = BTreeSet::new();
    let terms = between("#define IS_DROPPED(reason)", "#endif").replace('\\', " ");
    for term in terms.split("||") {
        let bounds: Vec<_> = term
            .split(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_')
            .filter(|word| !word.is_empty())
            .map(named)
            .collect();
        let (first, last) = match (bounds[..].as_ref(), term.matches("==").count()) {
            (&[one], 1) => (one, one),
            (&[first, last], 0) => (first, last),
            _ => panic!("neither one reason nor a range: {term}"),
        };
        let range = |reason: &&Reason| (first..=last).contains(reason);
        dropped.extend(Reason::ALL.iter().copied().filter(|reason| range(&reason)));
    }
    for reason in Reason::ALL {
        let name = reason.name();
        assert_eq!(reason.is_punted(), !dropped.contains(reason), "{name}");
    }
}
