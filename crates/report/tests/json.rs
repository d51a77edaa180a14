//! Result files.

use report::json::write;

#[test]
fn replaces_whole_and_leaves_no_part() {
    let directory = std::env::temp_dir().join(format!("report-json-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("a.json");
    write(&path, &[1, 2]).unwrap();
    write(&path, &[3]).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "[\n  3\n]\n");
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn error_names_the_file_and_the_remedy() {
    let error = write("/nonexistent/a.json", &1).unwrap_err().to_string();
    assert!(
        error.contains("/nonexistent/a.json") && error.contains("directory that exists"),
        "{error}"
    );
}
