//! What fails while a router follows the kernel ends nothing: it is tried again, nobody vouches for
//! what is not known to be right, and in the end the engine's answers are the kernel's. Needs root;
//! says so and passes otherwise.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use router::control_plane::follower::Follower;
use router::control_plane::settings::Settings;
use router::engine::{Answers, Change, Counters, Engine, EngineError, PortMode};
use rustix::net::sockopt::set_socket_recv_buffer_size;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};

use crate::follow::{batch, differences, following, is_root, net, ports};
use crate::recording::Recording;

/// Works in a thread that is refused this system call, as are those that it starts.
fn without(call: libc::c_long, work: impl FnOnce() + Send) {
    let refuse = || {
        let calls = BTreeMap::from([(call, Vec::new())]);
        let refused = SeccompAction::Errno(libc::EMFILE as u32);
        let arch = TargetArch::try_from(std::env::consts::ARCH).unwrap();
        let filter = SeccompFilter::new(calls, SeccompAction::Allow, refused, arch).unwrap();
        let filter: BpfProgram = filter.try_into().unwrap();
        apply_filter(&filter).unwrap();
        work();
    };
    std::thread::scope(|scope| scope.spawn(refuse).join()).unwrap();
}

fn turn(follower: &mut Follower) {
    follower.follow();
    follower.tick(Instant::now());
}

fn wait_until(follower: &mut Follower, is_so: impl Fn(&Follower) -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_so(follower) {
        assert!(Instant::now() < end, "{:?}", follower.health());
        turn(follower);
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn failed(follower: &Follower) -> Vec<String> {
    let all = follower.health().troubles.all();
    all.map(|(what, error)| format!("{what}: {error}"))
        .collect()
}

#[test]
fn a_reread_that_fails_is_tried_again_and_nobody_vouches_meanwhile() {
    if !is_root() {
        return;
    }
    let net = net();
    following(&net, |follower| {
        // As small as the kernel allows, so that announcements are lost.
        set_socket_recv_buffer_size(follower.descriptor(), 1).unwrap();
        let lines = (0..4000u32).fold(String::new(), |mut lines, number| {
            let (high, low) = (number >> 8, number & 255);
            writeln!(lines, "route add 100.{high}.{low}.0/26 via 10.1.0.9").unwrap();
            lines
        });
        batch(&net.router, &lines);
        without(libc::SYS_socket, || {
            turn(follower);
            assert!(follower.health().overruns > 0);
            wait_until(follower, |follower| !follower.is_resyncing());
            let said = failed(follower);
            assert!(
                said.len() == 1 && said[0].contains("tables again: Too many"),
                "{said:?}"
            );
            turn(follower);
            assert!(!follower.is_resyncing(), "not in every turn");
            assert!(!follower.is_current(), "nobody may vouch for that");
            follower.verify().unwrap_err();
            batch(&net.router, "route add 192.0.2.0/24 via 10.2.0.9");
            turn(follower);
            assert!(!follower.is_current());
        });
        wait_until(follower, Follower::is_current);
        assert_eq!(failed(follower), [""; 0]);
        assert_eq!(follower.health().resyncs, 1);
        assert_eq!(differences(follower), [""; 0]);
        assert!(follower.mirror().routes().0 > 4000);
    });
}

/// Makes the first half of what it is asked for, while it is told to refuse.
struct Refusing {
    engine: Recording,
    refuses: Arc<AtomicBool>,
}

impl Engine for Refusing {
    fn name(&self) -> &'static str {
        "refusing"
    }

    fn modes(&self) -> Vec<PortMode> {
        self.engine.modes()
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), EngineError> {
        if !self.refuses.load(Ordering::Acquire) {
            return self.engine.apply(changes);
        }
        let done = changes.len() / 2;
        self.engine.apply(&changes[..done])?;
        let error = EngineError::new("changing next hops or tables", "the test says so");
        Err(EngineError { done, ..error })
    }

    fn answers(&self) -> &dyn Answers {
        &self.engine
    }

    fn counters(&self) -> Result<Counters, EngineError> {
        self.engine.counters()
    }
}

#[test]
fn changes_that_the_engine_refuses_wait_and_are_made_in_their_order() {
    if !is_root() {
        return;
    }
    let net = net();
    let work = || {
        let refuses = Arc::new(AtomicBool::new(false));
        let engine = Refusing {
            engine: Recording::new(),
            refuses: Arc::clone(&refuses),
        };
        let mut follower = Follower::start(&ports(), Box::new(engine)).unwrap();
        refuses.store(true, Ordering::Release);
        let rounds = [
            "route add 203.0.113.0/25 via 10.0.0.9\nroute add 192.0.2.0/24 via 10.1.0.9\nroute add \
             203.0.113.128/25 via 10.2.0.9\nroute add 198.51.100.0/24 via 10.1.0.8\n",
            "route replace 192.0.2.0/24 via 10.2.0.9\nroute del 198.51.100.0/24\n",
            "route add 198.51.100.0/24 nexthop via 10.1.0.9 nexthop via 10.2.0.9\n",
        ];
        for lines in rounds {
            batch(&net.router, lines);
            turn(&mut follower);
            assert!(!follower.is_current(), "nobody may vouch for that");
            assert_eq!(failed(&follower).len(), 1);
        }
        refuses.store(false, Ordering::Release);
        wait_until(&mut follower, Follower::is_current);
        assert_eq!(failed(&follower), [""; 0]);
        assert_eq!(differences(&mut follower), [""; 0]);
    };
    net.router.enter(work).unwrap();
}

#[test]
fn a_setting_that_cannot_be_read_is_not_taken_for_zero() {
    without(libc::SYS_openat, || {
        let error = Settings::read(Vec::new()).unwrap_err().to_string();
        assert!(error.contains("net/ipv4/conf/all/rp_filter"), "{error}");
    });
}
