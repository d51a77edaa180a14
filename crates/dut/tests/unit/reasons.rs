use tester::places::{Place, Placing, Way};
use tester::rig::Rig;
use tester::schedule::Schedule;
use tester::sizes::{Family, FrameSize};
use tester::traffic::Traffic;
use tester::trial::{Direction, Order, Trial, Waits};
use tester::veth::Testbed;

use super::*;

#[test]
fn the_kernel_s_drops_are_named_as_it_does() {
    let text = "Ip: Forwarding InHdrErrors ForwDatagrams InDiscards\nIp: 1 7 100 2\nIcmp: X\n";
    let pairs = [("IpInHdrErrors", 7), ("IpInDiscards", 2)];
    assert_eq!(
        snmp(text),
        pairs.map(|(name, frames)| (name.to_owned(), frames))
    );
    let text = "Ip6InReceives   \t9\nIp6InNoRoutes                   \t3\nIp6OutDiscards\t0\n";
    let pairs = [("Ip6InNoRoutes", 3), ("Ip6OutDiscards", 0)];
    assert_eq!(
        snmp6(text),
        pairs.map(|(name, frames)| (name.to_owned(), frames))
    );
}

#[test]
fn only_the_root_of_queueing_disciplines_counts() {
    let text = "\
qdisc tbf 8001: root refcnt 2 rate 48Mbit burst 4200b lat 0us
 Sent 1200 bytes 20 pkt (dropped 31, overlimits 40 requeues 0)
 backlog 0b 0p requeues 0
qdisc pfifo 8002: parent 8001:1 limit 1000p
 Sent 1200 bytes 20 pkt (dropped 31, overlimits 0 requeues 0)
";
    assert_eq!(queueing(text), [("queueing discipline tbf".to_owned(), 31)]);
}

#[test]
fn what_a_router_leaves_to_the_kernel_is_no_drop() {
    let answer = r#"{ "drops": [
        { "port": "d0", "reason": "ttl", "fate": "dropped", "frames": 3 },
        { "port": "d1", "reason": "ttl", "fate": "dropped", "frames": 4 },
        { "port": "d1", "reason": "options", "fate": "to the kernel", "frames": 5 } ] }"#;
    assert_eq!(dropped(answer), [("ttl".to_owned(), 7)]);
    assert_eq!(dropped("no answer"), []);
}

/// What the kernel's forwarding does with frames of a schedule, behind a bucket of 2000 frames/s on
/// its second port.
fn behind_a_bucket(schedule: Schedule) -> Option<Trial> {
    if !needs::root("for network namespaces and eBPF") {
        return None;
    }
    let _alone = needs::cores();
    let testbed = Testbed::new(1500, true).unwrap();
    let line = format!(
        "qdisc replace dev {} root tbf rate 960kbit burst 1200 limit 1200",
        testbed.ports[1]
    );
    let mut command = testbed.device.command("tc");
    assert!(command.args(line.split(' ')).status().unwrap().success());
    let reasons = kernel(testbed.device.clone(), testbed.ports.clone());
    let rig = testbed.rig("a bucket", 1).unwrap();
    let mut rig = Placing::new(rig, Way::through(&testbed, reasons));
    let order = Order {
        sizes: vec![FrameSize::new(64, Family::Ipv4, 1500).unwrap()],
        family: Family::Ipv4,
        schedule,
        direction: Direction::OneWay,
        destinations: 1,
        traffic: Traffic::default(),
        time_every_frame: false,
        waits: Waits::QUICK,
    };
    let trial = rig.run(&order, "test", None).unwrap();
    let sum: u64 = trial.lost_at.iter().map(|lost| lost.frames).sum();
    assert_eq!(sum, trial.counts.lost, "{:?}", trial.lost_at);
    assert!(trial.counts.lost > 0, "{:?}", trial.counts);
    Some(trial)
}

fn lost_at(trial: &Trial, place: Place, reason: Option<&str>) -> u64 {
    let here = trial.lost_at.iter();
    let here = here.filter(|lost| lost.place == place && lost.reason.as_deref() == reason);
    here.map(|lost| lost.frames).sum()
}

#[test]
fn what_a_bucket_dropped_was_lost_in_the_device_by_it() {
    let Some(trial) = behind_a_bucket(Schedule::constant(10_000.0, 0.1)) else {
        return;
    };
    let tbf = lost_at(&trial, Place::Device, Some("queueing discipline tbf"));
    let into = lost_at(&trial, Place::IntoDevice, None);
    // On a busy machine the ring before the device overflows too.
    assert!(
        tbf > 0 && 100 * (tbf + into) >= 99 * trial.counts.lost,
        "{:?}",
        trial.lost_at
    );
}

#[test]
fn what_the_ring_refused_was_lost_into_the_device() {
    let Some(trial) = behind_a_bucket(Schedule::burst(100_000)) else {
        return;
    };
    let into = lost_at(&trial, Place::IntoDevice, None);
    let tbf = lost_at(&trial, Place::Device, Some("queueing discipline tbf"));
    assert!(
        into > 0 && 100 * (tbf + into) >= 99 * trial.counts.lost,
        "{:?}",
        trial.lost_at
    );
}
