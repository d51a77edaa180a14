//! What is refused, what the machine does not allow, and what is left behind.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use super::{corelane, text};

#[test]
fn bad_input_is_named() {
    for (arguments, words) in [
        (vec!["--", "no-such-program-here"], "not installed"),
        (vec!["--", "false"], "returned 1"),
        (vec![], "no command"),
        (vec!["workload", "nothing-like-this"], "no workload"),
        (
            vec!["--progress", "rate:", "--", "echo", "none"],
            "no number after",
        ),
    ] {
        let output = corelane(&arguments);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(
            text(&output.stderr).contains(words),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn killed_it_leaves_nothing_running() {
    let mark = "98765";
    let mut child = Command::new(env!("CARGO_BIN_EXE_corelane"))
        .args(["scale", "--", "sleep", mark])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let sleeps = || {
        fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            fs::read(entry.path().join("cmdline"))
                .is_ok_and(|line| line == format!("sleep\0{mark}\0").as_bytes())
        })
    };
    let until = |wanted: bool| {
        let start = Instant::now();
        while sleeps() != wanted && start.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(10));
        }
        sleeps() == wanted
    };
    assert!(until(true), "the command was started");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        until(false),
        "the command was ended though its parent was killed"
    );
}

#[test]
fn a_control_group_that_gives_less_is_named() {
    if !needs::root("to make a control group") {
        return;
    }
    let name = format!("corelane-scale-test-{}", std::process::id());
    let sweep = |group: &std::path::Path| {
        let join = format!(
            "echo $$ > {}/cgroup.procs && exec \"$0\" scale --quick --rounds 1 --cores 2 -- true",
            group.display()
        );
        let output = Command::new("sh")
            .args(["-c", &join, env!("CARGO_BIN_EXE_corelane")])
            .output()
            .unwrap();
        fs::remove_dir(group).unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).replace('\n', " ")
    };
    // Both versions of control groups: where it lies, the file of the limit, the limit, and what
    // must be said.
    let core = host::cores::allowed_cores().unwrap()[0].to_string();
    let mut tried = 0;
    for (root, files, words) in [
        (
            "/sys/fs/cgroup/cpu",
            vec![("cpu.cfs_quota_us", "50000")],
            "limits the processor time to 0.50 cores",
        ),
        (
            "/sys/fs/cgroup",
            vec![("cpu.max", "50000 100000")],
            "limits the processor time to 0.50 cores",
        ),
        (
            "/sys/fs/cgroup/cpuset",
            vec![("cpuset.mems", "0"), ("cpuset.cpus", core.as_str())],
            "2 cores were asked for, 1 is allowed",
        ),
    ] {
        let group = std::path::Path::new(root).join(&name);
        if fs::create_dir(&group).is_err() {
            continue;
        }
        if files.iter().all(|(file, value)| {
            group.join(file).exists() && fs::write(group.join(file), value).is_ok()
        }) {
            tried += 1;
            let said = sweep(&group);
            assert!(said.contains(words), "{said}");
        } else {
            fs::remove_dir(&group).unwrap();
        }
    }
    if tried == 0 {
        needs::skipped!("no control group can be made here");
    }
}

#[test]
fn fewer_cores_than_asked_are_named_where_the_affinity_is_narrow() {
    let core = host::cores::allowed_cores().unwrap()[0];
    let pinned = host::Pinned::to(core).unwrap(); // the program inherits it
    let output = corelane(&["--quick", "--rounds", "1", "--cores", "2", "--", "true"]);
    drop(pinned);
    let said = text(&output.stdout).replace('\n', " ");
    assert!(
        said.contains("2 cores were asked for, 1 is allowed"),
        "{said}"
    );
    assert!(
        said.contains("One core tells nothing about more cores"),
        "{said}"
    );
}

#[test]
fn without_the_right_to_real_time_priority_the_result_says_so() {
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65534;
    // Whoever divides the machine leaves others one core.
    let _alone = needs::cores();
    let mut command = Command::new(env!("CARGO_BIN_EXE_corelane"));
    command.args(["scale", "workload", "--quick", "fifo"]);
    if host::process::is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            needs::skipped!("nobody may not run this program where it lies");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let said = text(&output.stdout).replace('\n', " ");
    if said.contains("needs 2 cores") {
        needs::skipped!("needs two cores");
    } else if host::process::is_root() || said.contains("no real-time priority") {
        assert!(said.contains("no real-time priority here"), "{said}");
        assert!(said.contains("RLIMIT_RTPRIO"), "{said}");
    } else {
        needs::skipped!("this user has the right to real-time priority");
    }
}
