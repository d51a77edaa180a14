use super::*;

const GENERATE: &[u8] = include_bytes!("../../../fastpath/bpf/built/generate.bpf.o");

#[test]
fn the_generator_object_has_its_parts() {
    let object = Object::parse(GENERATE).unwrap();
    assert_eq!(object.license, "Dual MIT/GPL");
    assert_eq!(object.programs.len(), 1);
    assert_eq!(object.programs[0].name, "generate");
    let destinations = object
        .maps
        .iter()
        .find(|map| map.name == "destinations")
        .unwrap();
    assert_eq!((destinations.key_size, destinations.value_size), (4, 16));
    let constants: Vec<_> = object.constants.iter().map(|c| c.name.as_str()).collect();
    assert!(constants.contains(&"STREAM") && constants.contains(&"IPV6"));
}

#[test]
fn every_cut_or_changed_object_is_refused_or_parsed_but_never_panics() {
    for length in 0..GENERATE.len() {
        assert!(Object::parse(&GENERATE[..length]).is_err(), "{length}");
    }
    let mut changed = GENERATE.to_vec();
    for at in 0..changed.len() {
        for value in [0, 0xff, changed[at] ^ 0x10] {
            let before = std::mem::replace(&mut changed[at], value);
            let _outcome = Object::parse(&changed);
            changed[at] = before;
        }
    }
}
