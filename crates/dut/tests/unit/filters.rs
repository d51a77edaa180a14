use super::*;

#[test]
fn as_many_rules_as_the_rfc_wants_and_the_permitting_one_last() {
    for rules in SETS {
        let commands = commands(rules, &[Family::Ipv4], 2);
        assert_eq!(commands.len(), 2 + usize::from(rules));
        assert!(
            commands
                .last()
                .unwrap()
                .ends_with("ip saddr { 198.18.1.2, 198.19.1.2 } accept")
        );
    }
}
