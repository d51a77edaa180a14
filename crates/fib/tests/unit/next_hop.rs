//! Of `fib/src/next_hop.rs`.

use super::*;

fn table(entries: usize, buckets: usize) -> NextHopTable {
    NextHopTable::new(NextHopStorage::in_memory(entries, buckets).unwrap())
}

fn adjacency(port: u32) -> NextHopEntry {
    NextHopEntry {
        kind: Kind::Adjacency,
        port,
        ..NextHopEntry::default()
    }
}

#[test]
fn unset_next_hops_are_no_route() {
    let table = table(4, 4);
    assert_eq!(table.get(NextHop(77)), NextHopEntry::default());
    assert_eq!(table.view().get(NextHop::NONE).kind, Kind::None);
}

#[test]
fn a_replaced_entry_keeps_its_bytes_until_reclaimed() {
    let mut table = table(1, 0);
    table.set(NextHop(9), adjacency(1)).unwrap();
    let view = table.view();
    let old = view.get(NextHop(9));
    table.unused_slot = 2;
    table.free_slots = vec![];
    let full = table.set(NextHop(9), adjacency(2));
    assert_eq!(full, Err(NextHopError::NoSlot { capacity: 2 }));
    assert_eq!((old.port, view.get(NextHop(9)).port), (1, 1));
}

#[test]
fn slots_are_reused_only_after_their_epoch() {
    let mut table = table(2, 0);
    for port in 1..=3 {
        table.set(NextHop(1), adjacency(port)).unwrap();
    }
    table.seal(5);
    // SAFETY: no entry is borrowed.
    unsafe { table.reclaim(4) };
    assert!(table.set(NextHop(1), adjacency(4)).is_err());
    // SAFETY: no entry is borrowed.
    unsafe { table.reclaim(5) };
    table.set(NextHop(1), adjacency(4)).unwrap();
    assert_eq!(table.get(NextHop(1)).port, 4);
    assert_eq!(
        table.set(NextHop::NONE, adjacency(1)),
        Err(NextHopError::Reserved)
    );
}

#[test]
fn a_group_spreads_hashes_over_its_members_and_gives_its_buckets_back() {
    let mut table = table(8, 4);
    let members = [NextHop(1), NextHop(2), NextHop(3)];
    table
        .set_group(NextHop(10), NextHopEntry::default(), &members)
        .unwrap();
    let view = table.view();
    let group = view.get(NextHop(10));
    assert_eq!(group.kind, Kind::Group);
    let hit: Vec<_> = [0, u32::MAX / 2, u32::MAX]
        .map(|hash| view.member(group, hash))
        .to_vec();
    assert_eq!(hit, members);
    assert!(
        table
            .set_group(NextHop(11), NextHopEntry::default(), &members)
            .is_err()
    );
    table.remove(NextHop(10));
    table.seal(1);
    // SAFETY: `group` is not used again.
    unsafe { table.reclaim(1) };
    table
        .set_group(NextHop(11), NextHopEntry::default(), &members)
        .unwrap();
    table
        .set_group(NextHop(12), NextHopEntry::default(), &[])
        .unwrap();
    assert_eq!(view.member(view.get(NextHop(12)), 7), NextHop::NONE);
}

#[test]
fn groups_come_and_go_and_never_share_a_bucket() {
    let mut random = figures::Random::new(7);
    let mut table = table(512, 600);
    let mut sizes = [0; 40];
    let (mut made, mut refused) = (0, 0);
    for epoch in 1..4000 {
        let at = random.below(sizes.len());
        let id = NextHop(at as u16 + 1);
        let size = random.below(41);
        let entry = NextHopEntry::default();
        match table.set_group(id, entry, &vec![id; size]) {
            Ok(()) => (sizes[at], made) = (size, made + 1),
            Err(_) => refused += 1,
        }
        if random.below(8) == 0 {
            let stamp = epoch as u32;
            let entry = NextHopEntry { stamp, ..entry };
            table.set_group_entry(id, entry).unwrap();
            assert_eq!(table.get(id).stamp, stamp);
        }
        table.seal(epoch);
        // SAFETY: no entry is borrowed.
        unsafe { table.reclaim(epoch) };
        let view = table.view();
        for (at, &size) in sizes.iter().enumerate() {
            let group = view.get(NextHop(at as u16 + 1));
            assert_eq!(usize::from(group.group_size), size);
            for bucket in 0..size {
                let hash = (((bucket as u64) << 32) / size as u64 + 1) as u32;
                assert_eq!(view.member(group, hash).0, at as u16 + 1);
            }
        }
    }
    assert!(made > 2000 && refused > 100, "{made} {refused}");
}
