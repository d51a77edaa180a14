use super::*;

#[test]
fn a_name_is_the_same_on_the_command_line_in_a_file_and_in_output() {
    for kind in EngineKind::value_variants() {
        let value = toml::Value::String(kind.name().to_owned());
        assert_eq!(value.try_into(), Ok(*kind));
        assert_eq!(EngineKind::from_str(kind.name(), false), Ok(*kind));
    }
}
