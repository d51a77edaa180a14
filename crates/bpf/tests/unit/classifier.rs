use std::fs::File;
use std::mem::ManuallyDrop;
use std::time::{Duration, Instant};

use host::bed::{Bed, side};

use super::*;

const NAME: &str = "drops";

/// A program that has every frame dropped.
fn drops() -> OwnedFd {
    const TC_ACT_SHOT: i32 = 2;
    let code = [(0xb7, TC_ACT_SHOT), (0x95, 0)];
    let instructions = code.map(|(code, immediate)| Instruction {
        code,
        registers: 0,
        offset: 0,
        immediate,
    });
    sys::program_load(Hook::Tc, NAME, &instructions, "GPL", 0, 0, &mut []).unwrap()
}

#[test]
fn a_filter_ends_with_who_made_it_beside_those_of_others() {
    if !needs::root("for network namespaces, eBPF") || !needs::program("tc") {
        return;
    }
    let bed = Bed::plan()
        .cable(
            side("r", "r0").address("10.0.0.1/24"),
            side("a", "e0").address("10.0.0.2/24"),
        )
        .lay()
        .unwrap();
    let [r, a] = ["r", "a"].map(|place| bed.namespace(place).unwrap());
    let tc = |words: &str| {
        let output = r.command("tc").args(words.split_whitespace()).output();
        let output = output.unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let refusal = tc("qdisc add dev r0 clsact");
    if !refusal.is_empty() {
        needs::skipped!("this machine does not do `tc qdisc add dev r0 clsact`: {refusal}");
        return;
    }
    let passes = || {
        let words = ["-q", "-n", "-W", "1", "-c", "1", "10.0.0.1"];
        a.command("ping")
            .args(words)
            .output()
            .unwrap()
            .status
            .success()
    };
    // A busy machine may answer late.
    let passes_soon = || {
        let end = Instant::now() + Duration::from_mins(1);
        while !passes() && Instant::now() < end {}
        Instant::now() < end
    };
    let ours = || tc("filter show dev r0 ingress").contains("corelane drops");
    let theirs =
        "filter add dev r0 ingress pref 7 protocol ip u32 match ip dst 192.0.2.1 flowid 1:1";
    assert_eq!(tc(theirs), "");
    let ifindex = r.enter(|| crate::attach::index_of("r0")).unwrap().unwrap();
    let make = || {
        r.enter(|| Filter::new(drops().as_fd(), NAME, ifindex))
            .unwrap()
    };
    let filter = make().unwrap();
    assert!(ours() && !passes());
    r.enter(|| drop(filter)).unwrap();
    assert!(!ours() && passes_soon());

    // As when a process is killed: nobody removes the filter, but its descriptors are closed.
    let mut filter = ManuallyDrop::new(make().unwrap());
    assert!(!passes());
    filter.jump = File::open("/dev/null").unwrap().into();
    assert!(passes_soon(), "what has stayed drops frames");
    assert!(ours());
    // The next one removes it, as does who asks for that.
    let filter = make().unwrap();
    let shown = tc("filter show dev r0 ingress");
    assert_eq!(shown.matches("corelane drops").count(), 1, "{shown}");
    assert!(!passes());
    std::mem::forget(filter);
    r.enter(|| remove_left(NAME, ifindex)).unwrap().unwrap();
    assert!(!ours() && passes_soon());
    let shown = tc("filter show dev r0 ingress");
    assert!(shown.contains("pref 7 u32"), "{shown}");

    // Nor is it put where frames of other interfaces would come by.
    tc("qdisc del dev r0 clsact");
    tc("qdisc add dev r0 ingress_block 7 clsact");
    let refusal = make().unwrap_err().to_string();
    assert!(refusal.contains("block"), "{refusal}");
}
