//! The forms of the documents that the program writes, as JSON Schema in `docs/schemas`.
//!
//! `make schemas` writes them anew from the types.

mod check;

use planes::result::{Comparison, SCHEMA};
use serde_json::Value;

use crate::pages::repository;

/// A result that an earlier version wrote.
const STORED: &str = include_str!("fixtures/planes.json");

/// Name and version of each form, and its schema as the types give it.
fn generated() -> [(&'static str, Value); 1] {
    [(SCHEMA, schemars::schema_for!(Comparison).to_value())]
}

fn stored() -> Value {
    serde_json::from_str(STORED).unwrap()
}

#[test]
fn the_schemas_of_the_documents_are_those_of_the_types() {
    for (form, schema) in generated() {
        let name = form.replace('/', "-");
        let file = repository().join(format!("docs/schemas/{name}.json"));
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("CORELANE_WRITE_SCHEMAS").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        let committed = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            committed == text,
            "{form} differs from {}: `make schemas` writes it anew; docs/verbs.md says whether \
             the version must rise",
            file.display()
        );
    }
}

#[test]
fn a_stored_document_fits_its_schema() {
    let [(_, schema)] = generated();
    assert_eq!(check::first_fault(&schema, &stored()), None);
    let rewritten: Comparison = serde_json::from_value(stored()).unwrap();
    let rewritten = serde_json::to_value(rewritten).unwrap();
    assert_eq!(check::first_fault(&schema, &rewritten), None);
}

#[test]
fn what_is_no_such_document_does_not_fit() {
    let [(_, schema)] = generated();
    let broken = |change: fn(&mut Value)| {
        let mut document = stored();
        change(&mut document);
        check::first_fault(&schema, &document).unwrap_or_default()
    };
    let fault = broken(|document| document["schema"] = "corelane-planes/9".into());
    assert!(fault.starts_with("/schema: "), "{fault}");
    let fault = broken(|document| document["cells"][0]["plane"] = "fourth".into());
    assert!(fault.starts_with("/cells/0/plane: "), "{fault}");
    let fault = broken(|document| {
        document.as_object_mut().unwrap().remove("environment");
    });
    assert!(fault.contains("environment"), "{fault}");
}

#[test]
fn a_document_from_before_the_additions_and_one_with_more_are_read() {
    let [(_, schema)] = generated();
    let required: Vec<&str> = schema["required"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let mut document = stored();
    let fields = document.as_object_mut().unwrap();
    let all = fields.len();
    fields.retain(|name, _| required.contains(&name.as_str()));
    assert!(fields.len() < all, "something was added to this form");
    assert!(serde_json::from_value::<Comparison>(document).is_ok());
    let mut document = stored();
    document["an-addition"] = 1.into();
    assert_eq!(check::first_fault(&schema, &document), None);
    assert!(serde_json::from_value::<Comparison>(document).is_ok());
}
