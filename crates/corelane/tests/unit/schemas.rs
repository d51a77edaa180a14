//! The forms of the documents that the program writes, as JSON Schema in `docs/schemas`.
//!
//! `make schemas` writes them anew from the types.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// Of a form that is read again: what was added to it later may be absent.
fn read<T: JsonSchema>() -> Value {
    schemars::schema_for!(T).to_value()
}

/// Of a form that is written only.
fn written<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::default().for_serialize().into_generator();
    generator.into_root_schema_for::<T>().to_value()
}

/// Every form.
fn all() -> Vec<Value> {
    vec![
        written::<crate::capture::frame::Frame>(),
        written::<crate::doctor::Diagnosis>(),
        written::<crate::drain::Drained>(),
        written::<crate::fleet::Fleet>(),
        written::<crate::top::View>(),
        written::<crate::trace::Comparison>(),
        written::<crate::tune::Tuning>(),
        written::<crate::verify::Search>(),
        read::<dut::budget::Budget>(),
        written::<fleetlab::forecast::Forecast>(),
        read::<fleetlab::result::FleetLab>(),
        read::<planes::advise::Advice>(),
        read::<planes::result::Comparison>(),
        written::<router::management_plane::console::Point>(),
        written::<router::management_plane::explain::Explained>(),
        written::<router::management_plane::recording::Recording>(),
        written::<router::management_plane::forms::Health>(),
        written::<router::management_plane::forms::Show>(),
        written::<router::management_plane::forms::Verify>(),
        read::<router::management_plane::node::Listed>(),
        read::<router::management_plane::node::Node>(),
        read::<router::management_plane::node::Ranges>(),
        read::<scaling::result::ScaleResult>(),
        read::<scaling::result::compare::Comparison>(),
        read::<scaling::result::record::Forecasts>(),
        read::<scaling::ab::AbResult>(),
        read::<scaling::calibration::verdict::Calibration>(),
        read::<scaling::suite::SuiteResult>(),
        written::<scaling::workloads::list::List>(),
        written::<study::bounds::Bounds>(),
        written::<study::line::Line>(),
        read::<study::result::Study>(),
        read::<tester::result::Report>(),
        read::<tracer::summary::Summary>(),
        read::<tune::record::Record>(),
    ]
}

/// A form's file.
fn file_name(schema: &Value) -> String {
    let form = schema["properties"]["schema"]["const"].as_str();
    format!(
        "{}.json",
        form.expect("a form has a name").replace('/', "-")
    )
}

#[test]
fn the_schemas_of_the_documents_are_those_of_the_types() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
    let mut names = BTreeSet::new();
    for schema in all() {
        let name = file_name(&schema);
        let file = directory.join(&name);
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("CORELANE_WRITE_SCHEMAS").is_some() {
            fs::write(&file, &text).unwrap();
        }
        let committed = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            committed == text,
            "{} is not what the types give: `make schemas` writes it anew; docs/verbs.md says \
             whether the version must rise",
            file.display()
        );
        assert!(
            names.insert(name),
            "two forms of one name: {}",
            file.display()
        );
    }
    let entries = fs::read_dir(&directory).unwrap();
    let found = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(found.collect::<BTreeSet<_>>(), names);
}
