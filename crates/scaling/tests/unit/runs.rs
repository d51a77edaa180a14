use std::fs;
use std::path::Path;

use super::*;

#[test]
fn the_ground_is_made_ready_before_every_run() {
    let directory = host::temporary::Directory::new("ready").unwrap();
    let file = directory.path().join("ground");
    let in_shell = |script: String| ["sh".to_owned(), "-c".to_owned(), script].to_vec();
    let job = Job {
        // Succeeds only once after each preparation.
        command: in_shell(format!("rm {}", file.display())),
        mode: Mode::Copies,
        order: Vec::new(),
        timeout: Duration::from_secs(20),
        progress: None,
        prepare: Some(in_shell(format!("touch {}", file.display()))),
        seed: 1,
        interrupted: || false,
    };
    let mut runs = Runs::start(&job, Placement::Free.on(1)).unwrap();
    runs.run().unwrap();
    runs.run().unwrap();
    runs.watch().unwrap();
    assert!(!Path::exists(&file) && fs::read_dir(directory.path()).unwrap().next().is_none());
    assert!(runs.run_prepared().is_err(), "nothing to remove");
}
