use std::io::Write;
use std::process::{Command, Stdio};

use super::*;

#[test]
fn the_archive_is_one_that_others_can_read() {
    let mut archive = Archive::default();
    archive.directory("dev");
    archive.character_device("dev/console", (5, 1));
    archive.executable("init", b"odd length!");
    let bytes = archive.finish();
    assert_eq!(bytes.len() % 4, 0);
    let busybox = Command::new("busybox")
        .args(["cpio", "-t"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut busybox) = busybox else {
        needs::skipped!("busybox is not installed (package busybox-static)");
        return;
    };
    busybox.stdin.take().unwrap().write_all(&bytes).unwrap();
    let listed = busybox.wait_with_output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&listed.stdout),
        "dev\ndev/console\ninit\n"
    );
}
