//! `corelane scale` as its users run it: options, files, errors, and what is left behind.

use std::{
    fs,
    process::{Command, Output},
    time::{Duration, Instant},
};

fn corelane(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_corelane"))
        .arg("scale")
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_quick_sweep_of_nothing_writes_its_files_and_is_compared() {
    let directory = place();
    let (json, html) = (directory.join("a.json"), directory.join("a.html"));
    let start = Instant::now();
    let output = corelane(&[
        "--quick",
        "--json",
        json.to_str().unwrap(),
        "--html",
        html.to_str().unwrap(),
        "--",
        "true",
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(start.elapsed() < Duration::from_mins(1), "hangs");
    assert!(text(&output.stdout).contains("What each core buys"));
    let result: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    assert_eq!(result["schema"], "corelane-scale/1");
    for field in [
        "cores",
        "mode",
        "seconds",
        "speedup",
        "low",
        "high",
        "efficiency",
        "karp_flatt",
    ] {
        assert!(result["points"][0].get(field).is_some(), "{field}");
    }
    for field in ["law", "cause", "sentence", "not_measured", "environment"] {
        assert!(result.get(field).is_some(), "{field}");
    }
    let page = fs::read_to_string(&html).unwrap();
    assert!(page.contains("</html>") && !page.contains("https://") && !page.contains(" src="));
    let both = corelane(&["compare", json.to_str().unwrap(), json.to_str().unwrap()]);
    assert!(
        both.status.success() && text(&both.stdout).contains("of A"),
        "{}",
        text(&both.stderr)
    );
    let same = corelane(&["compare", json.to_str().unwrap(), html.to_str().unwrap()]);
    assert!(!same.status.success() && text(&same.stderr).contains("corelane-scale/1"));
    fs::remove_dir_all(directory).unwrap();
}

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
fn the_list_names_every_workload_and_a_loop_runs() {
    let list = text(&corelane(&["list"]).stdout);
    for name in [
        "memory",
        "cache",
        "reverse",
        "blocks",
        "migration",
        "compile",
        "raytrace",
        "keysearch",
        "unix",
        "control-loop",
        "interrupts",
        "poll",
        "logger",
        "fifo",
        "forward",
    ] {
        assert!(list.contains(name), "{name}");
    }
    let loops = corelane(&["work", "keysearch", "--variant", "9", "--milliseconds", "5"]);
    assert!(text(&loops.stdout).starts_with("units a second: "));
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

fn place() -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("corelane-scale-test-{}", std::process::id()));
    fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn forecasts_are_kept_where_they_are_asked_for_and_scored_later() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("state/forecasts.json");
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_corelane"))
            .arg("scale")
            .args(arguments)
            .env("CORELANE_FORECASTS", &record)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    // Prints its own rate, so that what is measured does not depend on the machine.
    let sweep = |more: &[&str]| {
        let mut arguments = vec!["--quick", "--rounds", "3", "--placement", "pinned"];
        arguments.extend(["--progress", "rate:"]);
        arguments.extend(more);
        arguments.extend(["--", "sh", "-c", "sleep 0.01; echo rate: {cores}0"]);
        run(&arguments)
    };
    sweep(&[]);
    assert!(!record.exists(), "nothing is written unasked");
    sweep(&["--forecast", "--cores", "1"]);
    let mut kept: serde_json::Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    assert_eq!(kept["schema"], "corelane-scale-forecasts/1");
    let cores = host::cores::allowed_cores().unwrap().len();
    if cores < 2 {
        println!("skipped: needs two cores");
        return;
    }
    sweep(&["--forecast"]);
    kept = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    let open = |kept: &serde_json::Value| {
        let all = kept["kept"].as_array().unwrap().clone();
        all.into_iter().filter(|f| f["score"].is_null()).count()
    };
    assert!(
        open(&kept) > 0,
        "more cores than there are stay open: {kept}"
    );
    // As if this machine had had one core less: the next sweep decides.
    for forecast in kept["kept"].as_array_mut().unwrap() {
        forecast["band"]["cores"] = cores.into();
    }
    fs::write(&record, kept.to_string()).unwrap();
    assert!(sweep(&[]).contains("could be held against"));
    kept = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    assert_eq!(open(&kept), 0);
    assert!(run(&["forecasts"]).contains("Track record"));
    fs::write(&record, "no record").unwrap();
    let broken = sweep(&[]);
    assert!(broken.contains("was not written"), "{broken}");
}

#[test]
fn absent_packages_are_named_and_the_suite_goes_on() {
    let output = Command::new(env!("CARGO_BIN_EXE_corelane"))
        .args(["scale", "workload", "--quick", "raytrace", "compile"])
        .env("PATH", "/nonexistent")
        .output()
        .unwrap();
    let said = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for words in [
        "raytrace: not run: povray is not installed; install it with `apt-get install povray`",
        "compile: not run: make is not installed; install it with `apt-get install make`",
    ] {
        assert!(said.replace('\n', " ").contains(words), "{said}");
    }
}

#[test]
fn what_a_kernel_needs_is_named_beside_what_the_tree_needs() {
    let output = Command::new(env!("CARGO_BIN_EXE_corelane"))
        .args(["scale", "workload", "--quick", "--kernel", "compile"])
        .env("PATH", "/nonexistent")
        .output()
        .unwrap();
    let said = text(&output.stdout).replace('\n', " ");
    assert!(output.status.success(), "{}", text(&output.stderr));
    for words in [
        "install it with `apt-get install make`;",
        "install it with `apt-get install linux-source gcc make flex bison bc xz-utils libelf-dev`",
    ] {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_load_that_follows_a_law_is_found_and_the_rest_is_not_claimed() {
    let cores = host::cores::allowed_cores().unwrap().len();
    if cores < 2 {
        println!("skipped: needs two cores");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("law.json");
    // Says of itself what Amdahl's law with a serial share of a fifth makes of N cores, whatever the machine does.
    let amdahl = "n={cores}; echo rate: $((10000000 * n / (10 + 2 * (n - 1))))";
    let output = corelane(&[
        "--quick",
        "--progress",
        "rate:",
        "--placement",
        "pinned",
        "--json",
        json.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        amdahl,
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let result: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    for point in result["points"].as_array().unwrap() {
        let Some(e) = point["karp_flatt"].as_f64() else {
            continue;
        };
        assert!((e - 0.2).abs() < 1e-3, "{point}");
    }
    assert_eq!(result["control"]["ratio"], 1.0);
    let said = text(&output.stdout).replace('\n', " ");
    if cores <= 4 {
        assert!(said.contains("cannot show where it ends"), "{said}");
    }
}

#[test]
fn a_control_group_that_gives_less_is_named() {
    if !host::process::is_root() {
        println!("skipped: needs root to make a control group");
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
    // Both versions of control groups: where it lies, the file of the limit, the limit, and what must be said.
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
        println!("skipped: no control group can be made here");
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
    let mut command = Command::new(env!("CARGO_BIN_EXE_corelane"));
    command.args(["scale", "workload", "--quick", "fifo"]);
    if host::process::is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            println!("skipped: nobody may not run this program where it lies");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let said = text(&output.stdout).replace('\n', " ");
    if said.contains("needs 2 cores") {
        println!("skipped: needs two cores");
    } else if host::process::is_root() || said.contains("no real-time priority") {
        assert!(said.contains("no real-time priority here"), "{said}");
        assert!(said.contains("RLIMIT_RTPRIO"), "{said}");
    } else {
        println!("skipped: this user has the right to real-time priority");
    }
}
