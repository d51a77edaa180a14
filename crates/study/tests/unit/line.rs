use super::*;
use crate::testing;

#[test]
fn a_line_has_the_smallest_frames_and_not_the_machines_name() {
    let mut study = testing::study();
    study.environment.host = "gateway-7".to_owned();
    study.environment.cpu = "a processor".to_owned();
    let line = serde_json::to_value(Line::of(&study)).unwrap();
    assert_eq!(line["schema"], "corelane-study-line/2");
    assert_eq!(line["environment"]["cpu"], "a processor");
    assert!(!line.to_string().contains("gateway-7"));
    let rows = line["forwarding"].as_array().unwrap();
    assert!(rows.len() > 2);
    for row in rows {
        assert_eq!(
            (&row["frame_bytes"], &row["route_changes_per_second"]),
            (&64.into(), &0.into())
        );
    }
}

#[test]
fn lines_are_added_and_stay() {
    let directory = host::temporary::Directory::new("study-line").unwrap();
    let file = directory.path().join("results.jsonl");
    let study = testing::study();
    for count in 1..=3 {
        append(&file, &study).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.ends_with('\n'));
        let lines = text.lines().map(serde_json::from_str::<serde_json::Value>);
        assert_eq!(lines.map(Result::unwrap).count(), count);
    }
    let said = append(directory.path(), &study).unwrap_err().to_string();
    assert!(said.contains("cannot write"), "{said}");
}
