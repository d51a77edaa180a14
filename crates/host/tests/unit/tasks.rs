use std::os::unix::process::CommandExt;
use std::process::Command;

use super::*;
use crate::favour::{Rank, rank};

#[test]
fn each_core_has_its_thread_for_softirqs() {
    let found: Vec<_> = crate::allowed_cores()
        .unwrap()
        .into_iter()
        .map(softirqs)
        .collect();
    if found.iter().all(Option::is_none) {
        needs::skipped!("a container hides the kernel's threads");
        return;
    }
    let different: BTreeSet<_> = found.iter().flatten().collect();
    assert_eq!(different.len(), found.len(), "{found:?}");
}

#[test]
fn processes_have_descendants_and_ranks_come_and_go() {
    let mut leader = Command::new("sleep")
        .arg("20")
        .process_group(0)
        .spawn()
        .unwrap();
    assert_eq!(descendants(leader.id()), [leader.id()]);
    assert!(descendants(std::process::id()).contains(&leader.id()));
    assert_eq!(threads(leader.id()).unwrap(), [leader.id()]);
    assert!(named("sleep").contains(&leader.id()));
    assert!(runs("sleep") && !runs("slee"));
    let allowed = crate::allowed_cores().unwrap();
    bind(leader.id(), &allowed[..1]).unwrap();
    let nowhere = bind(leader.id(), &[CoreId(1023)]).unwrap_err();
    assert!(nowhere.to_string().contains("not on 1023"), "{nowhere}");
    if crate::process::is_root() {
        rank(leader.id(), Rank::First(1)).unwrap();
        rank(leader.id(), Rank::Normal).unwrap();
    } else {
        needs::skipped!("ranks need root");
    }
    leader.kill().unwrap();
    leader.wait().unwrap();
    assert!(rank(u32::MAX, Rank::Normal).is_err());
}
