//! Of `router/src/instance/recording.rs`.

use super::*;

#[test]
fn the_newest_are_kept_and_files_are_whole() {
    let directory = tempfile::tempdir().unwrap();
    let put = |number: u32, keep| {
        let name = format!("recording.one.{number}.stall.json");
        write(directory.path(), "recording.one.", &name, "{}\n", keep)
    };
    fs::write(directory.path().join("recording.one-2.1.stall.json"), "").unwrap();
    for number in 1..=5 {
        assert_eq!(fs::read_to_string(put(number, 3).unwrap()).unwrap(), "{}\n");
    }
    let mut names: Vec<_> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let ours = [3, 4, 5].map(|number| format!("recording.one.{number}.stall.json"));
    assert_eq!(names[0], "recording.one-2.1.stall.json", "another router's");
    assert_eq!(names[1..], ours);
    let nowhere = directory.path().join("nowhere");
    let error = write(&nowhere, "recording.one.", "recording.one.9", "", 3).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_full_disk_is_said_and_nothing_is_left() {
    if !needs::root("for a file system of its own") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_owned();
    let small = std::thread::spawn(move || {
        let none = std::ptr::null();
        let at = std::ffi::CString::new(place.to_str().unwrap()).unwrap();
        let (kind, size) = (c"tmpfs".as_ptr(), c"size=16k".as_ptr());
        // Only this thread sees what it mounts, and with it that goes.
        // SAFETY: plain numbers; texts that end with zero, and outlive the calls.
        let mounted = unsafe {
            [
                libc::unshare(libc::CLONE_FS | libc::CLONE_NEWNS),
                libc::mount(
                    none,
                    c"/".as_ptr(),
                    none,
                    libc::MS_REC | libc::MS_PRIVATE,
                    none.cast(),
                ),
                libc::mount(kind, at.as_ptr(), kind, 0, size.cast()),
            ]
        };
        assert_eq!(mounted, [0; 3], "{}", io::Error::last_os_error());
        let text = "x".repeat(1 << 20);
        let error = write(
            &place,
            "recording.one.",
            "recording.one.1.stall.json",
            &text,
            3,
        );
        let left = fs::read_dir(&place).unwrap().count();
        (error.unwrap_err().kind(), left)
    });
    assert_eq!(small.join().unwrap(), (io::ErrorKind::StorageFull, 0));
}
