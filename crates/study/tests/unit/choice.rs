//! Of `study/src/choice.rs`.

use super::*;

fn choice(engines: &[&str], cores: Option<usize>) -> Result<Choice, Error> {
    let engines: Vec<String> = engines.iter().map(ToString::to_string).collect();
    choose(&Wishes {
        engines: &engines,
        cores,
        routes: None,
    })
}

fn error_of(engines: &[&str], cores: Option<usize>) -> String {
    choice(engines, cores).err().unwrap().to_string()
}

#[test]
fn an_unknown_engine_is_answered_with_the_list() {
    let error = error_of(&["memory", "warp"], None);
    assert!(
        error.contains("\"warp\"") && error.contains("memory, kernel"),
        "{error}"
    );
}

#[test]
fn root_is_asked_for_by_name() {
    let error = named_engines(&["kernel".to_owned()], false)
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("kernel needs root") && error.contains("sudo"),
        "{error}"
    );
    assert_eq!(
        named_engines(&["kernel".to_owned()], true).unwrap().len(),
        1
    );
}

#[test]
fn more_cores_than_there_are_and_none_at_all() {
    let error = error_of(&["memory"], Some(100_000));
    assert!(
        error.contains("--cores 100000") && error.contains("at most"),
        "{error}"
    );
    assert!(error_of(&["memory"], Some(0)).contains("at least one core"));
}

#[test]
fn engines_come_in_the_order_of_the_list() {
    let choice = choice(&["memory"], Some(1)).unwrap();
    assert_eq!((choice.engines.len(), choice.cores.len()), (1, 1));
}
