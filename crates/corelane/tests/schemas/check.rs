//! Whether a document fits a JSON Schema: the keywords that ours use, and no others.

use serde_json::{Map, Value};

/// Keywords that tell people, not machines.
const SILENT: [&str; 6] = [
    "$schema",
    "$defs",
    "title",
    "description",
    "default",
    "format",
];

/// Where a document first does not fit, and why.
pub(super) fn first_fault(schema: &Value, document: &Value) -> Option<String> {
    fault(schema, schema, document, "")
}

fn fault(root: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    let Some(keywords) = schema.as_object() else {
        return (schema == &Value::Bool(false)).then(|| format!("{at}: nothing may be here"));
    };
    keywords
        .iter()
        .filter(|(word, _)| !SILENT.contains(&word.as_str()))
        .find_map(|(word, rule)| match word.as_str() {
            "additionalProperties" => unnamed(root, keywords, rule, value, at),
            _ => broken(root, word, rule, value, at),
        })
}

/// What does not hold of properties that have no rule of their own.
fn unnamed(
    root: &Value,
    keywords: &Map<String, Value>,
    rule: &Value,
    value: &Value,
    at: &str,
) -> Option<String> {
    let named = keywords.get("properties").and_then(Value::as_object);
    let is_named = |name: &str| named.is_some_and(|named| named.contains_key(name));
    let mut rest = value
        .as_object()?
        .iter()
        .filter(|(name, _)| !is_named(name));
    rest.find_map(|(name, inside)| fault(root, rule, inside, &format!("{at}/{name}")))
}

/// What of one keyword does not hold.
fn broken(root: &Value, word: &str, rule: &Value, value: &Value, at: &str) -> Option<String> {
    let says = |holds: bool| (!holds).then(|| format!("{at}: {word} {rule}, found {value:.60}"));
    let list = || rule.as_array().into_iter().flatten();
    let fits = |rule: &&Value| fault(root, rule, value, at).is_none();
    match word {
        "$ref" => {
            let place = rule.as_str()?.strip_prefix('#')?;
            let Some(target) = root.pointer(place) else {
                return Some(format!("{at}: no {rule} in the schema"));
            };
            fault(root, target, value, at)
        }
        "type" => says(match rule.as_array() {
            Some(kinds) => kinds.iter().any(|kind| is(kind, value)),
            None => is(rule, value),
        }),
        "const" => says(rule == value),
        "enum" => says(list().any(|one| one == value)),
        "anyOf" => says(list().any(|rule| fits(&rule))),
        "oneOf" => says(list().filter(fits).count() == 1),
        "required" => {
            let object = value.as_object()?;
            let mut names = list().filter_map(Value::as_str);
            names
                .find(|name| !object.contains_key(*name))
                .map(|name| format!("{at}: {name} is missing"))
        }
        "properties" => rule.as_object()?.iter().find_map(|(name, rule)| {
            let inside = value.get(name)?;
            fault(root, rule, inside, &format!("{at}/{name}"))
        }),
        "items" => value.as_array()?.iter().enumerate().find_map(|(n, item)| {
            let at = format!("{at}/{n}");
            fault(root, rule, item, &at)
        }),
        "prefixItems" => {
            let mut pairs = value.as_array()?.iter().zip(list()).enumerate();
            pairs.find_map(|(n, (item, rule))| fault(root, rule, item, &format!("{at}/{n}")))
        }
        "allOf" => list().find_map(|rule| fault(root, rule, value, at)),
        "minimum" => says(
            value
                .as_f64()
                .is_none_or(|value| Some(value) >= rule.as_f64()),
        ),
        "maximum" => says(
            value
                .as_f64()
                .is_none_or(|value| Some(value) <= rule.as_f64()),
        ),
        "minItems" => says(
            value
                .as_array()
                .is_none_or(|all| Some(all.len() as u64) >= rule.as_u64()),
        ),
        "maxItems" => says(
            value
                .as_array()
                .is_none_or(|all| Some(all.len() as u64) <= rule.as_u64()),
        ),
        other => Some(format!("{at}: the check does not know the keyword {other}")),
    }
}

fn is(kind: &Value, value: &Value) -> bool {
    match kind.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_i64() || value.is_u64(),
        _ => false,
    }
}
