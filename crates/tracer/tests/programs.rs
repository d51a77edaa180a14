//! Whole programs under the recorder: in C with marks, with a core stolen from them, with their
//! lock taken away. Root and a C compiler; what is missing is said.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tracer::analyse::Analysis;
use tracer::analyse::classify::Class;
use tracer::event::Kind;
use tracer::record::{self, Options, Unwinding};
use tracer::summary::{Summary, progress};
use tracer::verdict::verdict;

use crate::live_help::{BUSY, busy, command, go_before_others, pin, root, run};

/// A directory that goes with the test.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("corelane-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary directory");
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Compiles the C program with these words, strictly.
fn compiled(directory: &Directory, compiler: &str, words: &[&str]) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = directory.0.join(format!("marked-{compiler}"));
    let output = Command::new(compiler)
        .args([
            "-O1",
            "-fno-omit-frame-pointer",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-pthread",
        ])
        .args(words)
        .arg("-I")
        .arg(here.join("../marker/include"))
        .arg(here.join("tests/programs/marked.c"))
        .arg("-o")
        .arg(&program)
        .output();
    match output {
        Ok(output) => {
            assert!(
                output.status.success(),
                "{compiler}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            Some(program)
        }
        Err(error) => {
            needs::skipped!("{compiler}: {error}");
            None
        }
    }
}

#[test]
fn the_header_is_clean_c_and_cplusplus() {
    // Compilers would take the cores of the tests that measure.
    let _one = BUSY.lock();
    let directory = Directory::new("header");
    let _ = compiled(
        &directory,
        "gcc",
        &["-std=c99", "-pedantic", "-D_GNU_SOURCE"],
    );
    let _ = compiled(&directory, "g++", &["-x", "c++", "-std=c++11"]);
}

#[test]
fn a_c_programs_marks_name_its_lock_and_count_its_work() {
    let _one = BUSY.lock();
    if !root() {
        return;
    }
    let directory = Directory::new("marks");
    let Some(program) = compiled(&directory, "gcc", &["-std=gnu99"]) else {
        return;
    };
    let program = program.display().to_string();
    let options = Options {
        stacks: Some(Unwinding::FramePointers),
        ..command(&[&program])
    };
    let trace = run(&options);
    let analysis = Analysis::new(&trace);
    let found = verdict(&trace, &analysis);
    let lock = analysis
        .locks
        .iter()
        .find(|lock| lock.name == "routes of the C program")
        .unwrap_or_else(|| panic!("{:?}", found.sentences));
    assert_eq!(lock.class, Class::Mutex);
    assert!(
        found
            .sentences
            .iter()
            .any(|s| s.contains("mutex `routes of the C program`")),
        "{:?}",
        found.sentences
    );
    let points = progress(&trace);
    assert!(
        points
            .iter()
            .any(|(name, rate)| name == "routes inserted" && *rate > 0.0),
        "{points:?}"
    );
    // Code places: glibc's own functions keep no frame pointers, so the frame above the one that
    // locks is sure.
    assert!(
        lock.places
            .iter()
            .any(|(place, _)| place == "worker" || place == "insert_route"),
        "{:?}",
        lock.places
    );
    assert!(!Path::new(&format!("/dev/shm/corelane-marker-{}", lock.process)).exists());
}

#[test]
fn callers_without_frame_pointers_are_found_by_the_tables_of_the_program() {
    let _one = BUSY.lock();
    if !root() {
        return;
    }
    let directory = Directory::new("deep");
    let program = directory.0.join("deep");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/deep.c");
    let words = ["-O2", "-fomit-frame-pointer", "-Wall", "-Wextra", "-Werror"];
    let mut compiler = Command::new("gcc");
    let compiler = compiler.args(words).args(["-pthread", "-o"]);
    let Ok(output) = compiler.arg(&program).arg(source).output() else {
        needs::skipped!("gcc");
        return;
    };
    assert!(output.status.success(), "{output:?}");
    let options = Options {
        stacks: Some(Unwinding::Tables),
        ..command(&[&program.display().to_string()])
    };
    let trace = run(&options);
    let stacks = &trace.trailer.stacks;
    let callers = ["insert_route", "serve_request", "worker"];
    let reaches = |stack: u32| {
        stacks[stack as usize]
            .windows(3)
            .any(|names| names == callers)
    };
    let (mut waits, mut samples) = ((0, 0), (0, 0));
    for event in &trace.events {
        let (seen, stack) = match event.kind {
            Kind::Stack(stack) => (&mut waits, stack),
            Kind::Sample(stack) => (&mut samples, stack),
            _ => continue,
        };
        // Of all that runs, the program's own.
        if stacks[stack as usize]
            .iter()
            .any(|name| name == "insert_route")
        {
            seen.0 += 1;
            seen.1 += u32::from(reaches(stack));
        }
    }
    for (what, (own, whole)) in [("waits", waits), ("samples", samples)] {
        assert!(
            own > 10 && whole == own,
            "{what}: {whole} of {own}: {stacks:?}"
        );
    }
    let analysis = Analysis::new(&trace);
    let lock = analysis.locks.iter().find(|lock| lock.name == "routes");
    let lock = lock.unwrap_or_else(|| panic!("{:?}", analysis.locks));
    assert!(
        lock.places.iter().any(|(place, _)| place == "insert_route"),
        "{:?}",
        lock.places
    );
}

/// The names of the locks of the C++ program, which a shell runs as the last command of `script`,
/// where `$1` is the program and `$2` an empty directory.
fn locks_of_till(script: &str) -> Option<Vec<String>> {
    let directory = Directory::new("till");
    let program = directory.0.join("till");
    let inside = directory.0.join("inside");
    std::fs::create_dir(&inside).expect("an empty directory");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/till.cpp");
    let words = ["-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"];
    let mut compiler = Command::new("g++");
    let Ok(output) = compiler.args(words).arg(&program).arg(source).output() else {
        needs::skipped!("g++");
        return None;
    };
    assert!(output.status.success(), "{output:?}");
    let (program, inside) = (program.display().to_string(), inside.display().to_string());
    let shell = ["sh", "-ec", script, "sh", &program, &inside];
    let trace = run(&command(&[&["unshare", "--mount"][..], &shell].concat()));
    assert_eq!(trace.trailer.exit, "exit status: 0");
    let locks = Analysis::new(&trace).locks;
    Some(locks.into_iter().map(|lock| lock.name).collect())
}

#[test]
fn a_cplusplus_programs_lock_has_the_name_of_its_source_in_a_container_too() {
    let _one = BUSY.lock();
    if !root() || !needs::program("unshare") {
        return;
    }
    // The second is there for nobody else.
    for script in [
        "exec $1",
        "mount -t tmpfs none $2; cp $1 $2/till; exec $2/till",
    ] {
        if let Some(names) = locks_of_till(script) {
            let name = "shop::Till<int>::lock".to_owned();
            assert!(names.contains(&name), "{script}: {names:?}");
        }
    }
}

/// A process that takes all of core 1 (real-time: shares of groups do not count then), and is no
/// child of this program.
struct Thief(
    libc::pid_t,
    #[expect(dead_code, reason = "removed with it")] Directory,
);

impl Thief {
    fn new() -> Self {
        let directory = Directory::new("thief");
        let name = directory.0.join("corethief");
        std::os::unix::fs::symlink("/bin/sh", &name).expect("a link");
        // The shell in between ends at once, so that the thief is somebody else's child.
        let script = format!(
            "chrt -f 1 taskset -c 1 {} -c 'while :; do :; done' >/dev/null 2>&1 & echo $!",
            name.display()
        );
        let output = Command::new("sh")
            .args(["-c", &script])
            .output()
            .expect("a shell is everywhere");
        let process = String::from_utf8_lossy(&output.stdout)
            .trim()
            .parse()
            .expect("the shell tells the number");
        Self(process, directory)
    }
}

impl Drop for Thief {
    fn drop(&mut self) {
        // SAFETY: a signal to the process that was made above and never ends by itself.
        unsafe { libc::kill(self.0, libc::SIGKILL) };
    }
}

#[test]
fn a_stolen_core_is_called_starvation_and_the_thief_is_named() {
    if !root() || !needs::two_cores() {
        return;
    }
    let _one = BUSY.lock();
    let _thief = Thief::new();
    std::thread::sleep(Duration::from_millis(50));
    let lock = Mutex::new(0_u64);
    let (analysis, found) = {
        let work = || {
            std::thread::scope(|scope| {
                for core in 0..2 {
                    let lock = &lock;
                    scope.spawn(move || {
                        pin(core);
                        let start = Instant::now();
                        while start.elapsed() < Duration::from_millis(400) {
                            busy(Duration::from_micros(200));
                            if let Ok(mut value) = lock.lock() {
                                *value += 1;
                            }
                        }
                    });
                }
            });
        };
        let ((), trace) = record::record_while(&Options::default(), work).expect("root may record");
        let analysis = Analysis::new(&trace);
        let found = verdict(&trace, &analysis);
        (analysis, found)
    };
    let starved = found
        .sentences
        .iter()
        .find(|sentence| sentence.starts_with("Starvation"));
    let starved = starved.unwrap_or_else(|| panic!("{:?}", found.sentences));
    assert!(starved.contains("corethief"), "{starved}");
    assert!(
        analysis
            .budget
            .thieves
            .iter()
            .any(|(name, taken, _)| name == "corethief" && *taken > 50_000_000),
        "{:?}",
        analysis.budget.thieves
    );
    let blamed: Vec<_> = found
        .blamed
        .iter()
        .map(|index| &analysis.locks[*index].name)
        .collect();
    assert!(
        blamed.is_empty(),
        "a lock is blamed for a stolen core: {blamed:?}"
    );
}

/// One run of two threads: its time, and what the machine took of it from one of them.
struct Run {
    time: Duration,
    taken: Duration,
}

/// Works for this long. Returns what was taken meanwhile: by other programs, by interrupts, and by
/// whoever has the hardware, of which the kernel may know nothing.
fn busy_but_for(time: Duration) -> Duration {
    let start = Instant::now();
    busy(time);
    start.elapsed().saturating_sub(time)
}

/// Two threads on two cores do `operations` each: hold for `hold`, then work for `think`. With one
/// lock, or with one for each. Nothing without the right to go before other programs.
fn run_with(
    locks: [&Mutex<u64>; 2],
    operations: u32,
    hold: Duration,
    think: Duration,
) -> Option<Run> {
    let barrier = std::sync::Barrier::new(2);
    let runs = std::thread::scope(|scope| {
        let threads: Vec<_> = locks
            .into_iter()
            .enumerate()
            .map(|(core, lock)| {
                let barrier = &barrier;
                scope.spawn(move || {
                    pin(core);
                    let first = go_before_others();
                    barrier.wait();
                    let start = Instant::now();
                    let mut taken = Duration::ZERO;
                    for _ in 0..operations {
                        if let Ok(mut value) = lock.lock() {
                            taken += busy_but_for(hold);
                            *value += 1;
                        }
                        taken += busy_but_for(think);
                    }
                    let time = start.elapsed();
                    first.then_some(Run { time, taken })
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().ok().flatten())
            .collect::<Option<Vec<_>>>()
    })?;
    Some(Run {
        time: runs.iter().map(|run| run.time).max()?,
        taken: runs.iter().map(|run| run.taken).max()?,
    })
}

/// The first run from which nobody took the cores, of so many, or the last.
fn calm<T>(mut look: impl FnMut() -> Option<(Run, bool, T)>) -> Option<(Run, T)> {
    const LOOKS: u32 = 200;
    let mut looks = 0;
    loop {
        let (run, own, rest) = look()?;
        looks += 1;
        // A fiftieth is less than what two runs of one program differ by.
        if looks == LOOKS || (own && run.taken * 50 < run.time) {
            return Some((run, rest));
        }
    }
}

static SHARED: Mutex<u64> = Mutex::new(0);

#[test]
fn a_removed_locks_measured_gain_lies_inside_the_predicted_interval() {
    const OPERATIONS: u32 = 500;
    const HOLD: Duration = Duration::from_micros(100);
    const THINK: Duration = Duration::from_micros(60);
    /// Two runs of one program differ by this on a shared machine.
    const NOISE: f64 = 0.07;
    if !root() || !needs::two_cores() {
        return;
    }
    let _one = BUSY.lock();
    // Who takes the cores hides whose lock it was, and what its going away buys.
    let recorded = calm(|| {
        let shared = || run_with([&SHARED, &SHARED], OPERATIONS, HOLD, THINK);
        let look = record::record_while(&Options::default(), shared);
        let (before, trace) = look.expect("root may record");
        let budget = Analysis::new(&trace).budget;
        Some((before?, budget.other * 20 < budget.wall, trace))
    });
    let own = [Mutex::new(0), Mutex::new(0)];
    let alone = calm(|| {
        let after = run_with([&own[0], &own[1]], OPERATIONS, HOLD, THINK);
        Some((after?, true, ()))
    });
    let (Some((before, trace)), Some((after, ()))) = (recorded, alone) else {
        needs::skipped!(
            "no right to go before other programs, so that their work would be measured \
             too"
        );
        return;
    };
    let analysis = Analysis::new(&trace);
    let summary = Summary::new(&trace, &analysis);
    let lock = summary
        .locks
        .iter()
        .find(|lock| lock.name.contains("SHARED"));
    let lock = lock.unwrap_or_else(|| panic!("{:?}", summary.verdict));
    assert!(lock.blamed, "{:?}", summary.verdict);
    let [low, high] = lock
        .predicted_gain
        .unwrap_or_else(|| panic!("{:?}", summary.verdict));
    let measured = before.time.as_secs_f64() / after.time.as_secs_f64();
    assert!(
        (low * (1.0 - NOISE)..=high * (1.0 + NOISE)).contains(&measured),
        "measured {measured:.3}, predicted {low:.3} to {high:.3}; others took {:?} and \
         {:?}; {:?}",
        before.taken,
        after.taken,
        summary.verdict
    );
}
