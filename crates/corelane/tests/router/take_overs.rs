//! One take-over after another under a stream of numbered frames, and every tenth new process is
//! killed at another moment of its way. No frame is lost, and the counters go on. A test has some;
//! `make bench-takeover` has a thousand.

use std::io::Read;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use router::management_plane::client;

use super::lab::{Lab, Router, is_root, wait_for};
use super::take_over::{all_arrive, closes, counted, lab, one_more, start, stream, take_over};

/// Unless `CORELANE_TAKE_OVER_ENGINE` says.
const ENGINE: &str = "xdp";
/// Of those with workers: what waits in the rings of one that has taken over and is killed is lost.
const WITH_WORKERS: &str = "af-xdp";
/// How many, unless `CORELANE_TAKE_OVERS` says.
const COUNT: u32 = 10;
/// Every so many-th new process is killed.
const KILLED: u32 = 10;
/// From one moment of a kill to the next, as a share of a take-over: its multiples are spread evenly.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// What a router logs when the new process has died.
const GOES_ON: &str = "this process goes on with";

/// What came of it.
#[derive(Debug, Default)]
struct Outcome {
    done: u32,
    /// New processes that died before they had taken over.
    killed: u32,
    /// Of these, the ones that the old process was waiting for.
    waited_for: u32,
    /// New processes that had taken over when they died: a crash, after which a router starts anew.
    late: u32,
    engine: String,
    /// Each take-over's time, from the start of the new process to the end of the old one.
    took: Vec<Duration>,
}

impl Outcome {
    fn sorted(&mut self) -> &[Duration] {
        self.took.sort_unstable();
        &self.took
    }

    /// The time that most take-overs take so far.
    fn usual(&mut self) -> Duration {
        let took = self.sorted();
        let middle = took.get(took.len() / 2);
        middle.copied().unwrap_or(Duration::from_millis(100))
    }

    /// One take-over, and the router that forwards then.
    fn complete(&mut self, lab: &Lab, mut old: Router) -> Router {
        let before = counted(&old);
        let began = Instant::now();
        let new = take_over(lab, &words(&self.engine));
        wait_for("the old process's end", 20, || old.ended());
        self.took.push(began.elapsed());
        assert_eq!(old.end(0), Some(0), "{}", old.log());
        let after = counted(&new);
        assert!(after >= before, "{before} frames, then {after}");
        self.done += 1;
        new
    }

    /// One new process that is killed, and the router that forwards then.
    fn kill(&mut self, lab: &Lab, mut old: Router) -> Router {
        let moment = (f64::from(self.killed + self.late + 1) * GOLDEN).fract();
        let delay = self.usual().mul_f64(moment);
        let heard = old.log().matches(GOES_ON).count();
        let mut child = one_more(lab, &self.engine);
        thread::sleep(delay);
        child.kill().unwrap();
        child.wait().unwrap();
        if !goes_on(lab, &mut old) {
            self.late += 1;
            return start(lab, &words(&self.engine));
        }
        self.killed += 1;
        let now = old.log().matches(GOES_ON).count();
        self.waited_for += u32::from(now > heard);
        old
    }
}

fn words(engine: &str) -> [&str; 4] {
    ["--engine", engine, "--require", "native"]
}

/// Does it go on? Or it ends, because the new process had taken over. It may answer before it has
/// heard the last of the new process.
fn goes_on(lab: &Lab, old: &mut Router) -> bool {
    let socket = lab.path("default.sock");
    let mut goes_on = None;
    wait_for("an answer or the end", 20, || {
        let is_answered = client::ask(&socket, "ports").is_ok();
        let log = old.log();
        let of = |what: &str| log.matches(what).count();
        let is_alone = of("makes itself ready") == of(GOES_ON);
        goes_on = if old.ended() {
            Some(false)
        } else {
            (is_answered && is_alone).then_some(true)
        };
        goes_on.is_some()
    });
    goes_on == Some(true)
}

#[test]
fn one_after_another_loses_no_frame_whoever_is_killed() {
    if !is_root() {
        return;
    }
    let count = std::env::var("CORELANE_TAKE_OVERS").ok();
    let count = count.map_or(COUNT, |count| count.parse().unwrap());
    let lab = lab();
    let engine = std::env::var("CORELANE_TAKE_OVER_ENGINE");
    let mut outcome = Outcome {
        engine: engine.unwrap_or_else(|_| ENGINE.to_owned()),
        ..Outcome::default()
    };
    let began = Instant::now();
    let mut router = Some(start(&lab, &words(&outcome.engine)));
    let before = counted(router.as_ref().unwrap());
    let (sent, lost) = stream(&lab, || {
        for turn in 1..=count {
            let old = router.take().unwrap();
            router = Some(if turn % KILLED == 0 {
                outcome.kill(&lab, old)
            } else {
                outcome.complete(&lab, old)
            });
        }
    });
    let may_lose = outcome.engine == WITH_WORKERS && outcome.late > 0;
    assert!(
        lost.is_empty() || may_lose,
        "of {sent} frames lost: {lost:?}"
    );
    let router = router.unwrap();
    let counted = counted(&router).saturating_sub(before);
    // Not before: a frame may be between two of the counters while they are read.
    assert!(closes(&router), "{}", router.show("workers"));
    assert_eq!(router.left_to_kernel(), [""; 0]);
    router.verify();
    println!(
        "take-overs: {} done, {} killed midway ({} of them awaited by the old process), {} killed \
         after, in {:.0?}",
        outcome.done,
        outcome.killed,
        outcome.waited_for,
        outcome.late,
        began.elapsed()
    );
    let lost = lost.len();
    println!("take-overs: {sent} frames, {lost} lost, 0 twice; {counted} more are counted");
    if counted < sent {
        let drops = router.show("drops");
        let rows = drops.as_array().unwrap().iter();
        let some = rows.filter(|row| row["frames"].as_u64() > Some(0));
        let some: Vec<_> = some
            .map(|row| format!("{} {}", row["reason"], row["frames"]))
            .collect();
        println!("take-overs: counted under reasons: {}", some.join(", "));
    }
    let took = outcome.sorted();
    let of = |share: usize| took[(took.len() - 1) * share / 100];
    println!(
        "take-overs: p50 {:.0?}, p99 {:.0?}, longest {:.0?}",
        of(50),
        of(99),
        of(100)
    );
}

/// A new process whose words are heard.
fn one_of_two(lab: &Lab) -> Child {
    let mut command = lab.r.command(env!("CARGO_BIN_EXE_corelane"));
    command.arg("run").arg(lab.path("few-routes.toml"));
    command.args(words(ENGINE)).arg("--take-over");
    command.arg("--run-directory").arg(lab.directory.path());
    let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn of_two_at_once_one_forwards_and_no_frame_is_lost() {
    if !is_root() {
        return;
    }
    let lab = lab();
    let mut old = start(&lab, &words(ENGINE));
    let mut both = [one_of_two(&lab), one_of_two(&lab)];
    all_arrive(&lab, || {
        wait_for("the end of the old process and of one more", 30, || {
            let ended = both.iter_mut().filter_map(|one| one.try_wait().unwrap());
            ended.count() > 0 && old.ended()
        });
    });
    assert_eq!(old.end(0), Some(0), "{}", old.log());
    for child in &mut both {
        let is_over = child.try_wait().unwrap();
        let _ended = child.kill();
        child.wait().unwrap();
        let mut said = String::new();
        let mut log = child.stderr.take().unwrap();
        log.read_to_string(&mut said).unwrap();
        match is_over.map(|status| status.code()) {
            None => assert!(said.contains("result=done"), "{said}"),
            // It was so late that the other took over from it.
            Some(Some(0)) => assert!(said.contains("taken over"), "{said}"),
            Some(code) => {
                assert_eq!(code, Some(1), "{said}");
                assert!(said.contains("taking over: "), "{said}");
            }
        }
    }
}
