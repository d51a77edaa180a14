//! Documents against the published schemas of `docs/schemas`.

mod check;

use planes::result::Comparison;
use serde_json::Value;

use crate::pages::repository;

/// A result that an earlier version wrote.
const STORED: &str = include_str!("fixtures/planes.json");

/// The published schema of a form.
fn published(form: &str) -> Value {
    let name = form.replace('/', "-");
    let file = repository().join(format!("docs/schemas/{name}.json"));
    let text = std::fs::read_to_string(&file);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_str(&text).unwrap()
}

/// Where a document first does not fit the schema that it names, and why.
fn first_fault(document: &Value) -> Option<String> {
    let form = document["schema"].as_str().expect("it names its form");
    check::first_fault(&published(form), document)
}

/// Holds a document against the schema that it names, of a form without its version.
#[track_caller]
pub(crate) fn assert_is(form: &str, document: &Value) {
    let named = document["schema"].as_str().unwrap_or_default();
    let of_form = named
        .strip_prefix(form)
        .is_some_and(|rest| rest.starts_with('/'));
    assert!(of_form, "{named:?} is no {form}");
    assert_eq!(first_fault(document), None, "{named}");
}

fn stored() -> Value {
    serde_json::from_str(STORED).unwrap()
}

#[test]
fn a_stored_document_fits_its_schema() {
    assert_is("corelane-planes", &stored());
    let rewritten: Comparison = serde_json::from_value(stored()).unwrap();
    assert_is("corelane-planes", &serde_json::to_value(rewritten).unwrap());
}

#[test]
fn what_is_no_such_document_does_not_fit() {
    let schema = published("corelane-planes/2");
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
    let schema = published("corelane-planes/2");
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
    assert_eq!(first_fault(&document), None);
    assert!(serde_json::from_value::<Comparison>(document).is_ok());
}
