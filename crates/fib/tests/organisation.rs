//! The organisations do the same, each in its way.

use fib::generated::next_hops;
use fib::memory::ArrayMemory;
use fib::next_hop::Kind;
use fib::organisation::{
    Change, Locked, LockedPerCore, OneByOne, Options, Organisation, PerCore, Reader, Shared,
    Traffic,
};
use fib::table::Capacity;
use fib::{NextHop, NextHopEntry, Prefix, Table};

fn options() -> Options {
    let room = Capacity {
        node_words: 1 << 12,
    };
    Options {
        workers: 2,
        v4: room,
        v6: room,
        next_hops: 8,
        buckets: 8,
    }
}

fn behaves<O: Organisation>(tables: &O) {
    let v4 = Prefix::containing(0x0A00_0000_u32, 8);
    let v6 = Prefix::containing(0x2001_0db8_u128 << 96, 32);
    let entry = NextHopEntry {
        kind: Kind::Adjacency,
        port: 3,
        ..NextHopEntry::default()
    };
    let changes = [
        Change::NextHop(NextHop(1), entry),
        Change::V4(v4, NextHop(1)),
        Change::V6(v6, NextHop(2)),
    ];
    tables.apply(&changes).unwrap();

    let mut readers: Vec<_> = (0..2)
        .map(|worker| tables.reader(worker).unwrap())
        .collect();
    assert!(tables.reader(2).is_err());
    for reader in &mut readers {
        let mut out = [NextHop(9); 2];
        reader.resolve_v4(&[0x0A01_0203, 0x0B00_0000], &[60, 100], &mut out);
        assert_eq!(out, [NextHop(1), NextHop::NONE]);
        assert_eq!(reader.next_hop(out[0]).port, 3);
        reader.resolve_v6(&[v6.last()], &[1500], &mut out);
        assert_eq!(out[0], NextHop(2));
        reader.quiesce();
    }
    assert_eq!(
        tables.traffic(NextHop(1)),
        Traffic {
            frames: 2,
            bytes: 120
        }
    );
    assert_eq!(
        tables.traffic(NextHop(2)),
        Traffic {
            frames: 2,
            bytes: 3000
        }
    );
    assert_eq!(
        tables.traffic(NextHop::NONE),
        Traffic {
            frames: 2,
            bytes: 200
        }
    );

    tables
        .apply(&[
            Change::V4(v4, NextHop::NONE),
            Change::NextHop(NextHop(1), NextHopEntry::default()),
        ])
        .unwrap();
    let mut out = [NextHop(9)];
    readers[0].resolve_v4(&[0x0A01_0203], &[60], &mut out);
    assert_eq!(out[0], NextHop::NONE);
    assert_eq!(readers[0].next_hop(NextHop(1)).kind, Kind::None);

    let error = tables
        .apply(&[
            Change::V4(v4, NextHop(1)),
            Change::NextHop(NextHop(0), entry),
        ])
        .unwrap_err();
    assert_eq!(error.applied, 1);
    assert!(tables.memory().used() > 0);

    let more = Prefix::containing(0x0A01_0000_u32, 24);
    let routes = [(more, NextHop(2)), (v4, NextHop(1)), (more, NextHop(3))];
    tables.apply_v4(&routes).unwrap();
    readers[0].resolve_v4(&[0x0A01_0003], &[60], &mut out);
    assert_eq!(out[0], NextHop(3));
    tables.apply_v4(&[(more, NextHop::NONE)]).unwrap();
    readers[1].resolve_v4(&[0x0A01_0003], &[60], &mut out);
    assert_eq!(out[0], NextHop(1));
    // More than there is room for: what was made before stays.
    let many: Vec<_> = (0..40_000_u32)
        .map(|number| (Prefix::containing(number << 14 | 0x40, 26), NextHop(1)))
        .collect();
    let applied = tables.apply_v4(&many).unwrap_err().applied;
    assert!((100..many.len()).contains(&applied));
    let (last, next) = (many[applied - 1].0, many[applied].0);
    let mut out = [NextHop(9); 2];
    readers[0].resolve_v4(&[last.last(), next.last()], &[60; 2], &mut out);
    assert_eq!(out, [NextHop(1), NextHop::NONE]);
    readers.iter_mut().for_each(Reader::quiesce);

    // Entries can be replaced for ever while readers come and go.
    for port in 0..100 {
        tables
            .apply(&[Change::NextHop(NextHop(1), NextHopEntry { port, ..entry })])
            .unwrap();
        readers.iter_mut().for_each(Reader::quiesce);
    }
    assert_eq!(readers[1].next_hop(NextHop(1)).port, 99);
}

#[test]
fn locked_behaves() {
    let tables = Locked::new(&options()).unwrap();
    behaves(&tables);
    assert!(tables.lock_range().contains(&tables.lock_address()));
}

#[test]
fn shared_behaves() {
    behaves(&Shared::new(&options()).unwrap());
}

#[test]
fn per_core_behaves() {
    behaves(&PerCore::new(&options()).unwrap());
}

#[test]
fn one_by_one_behaves() {
    behaves(&OneByOne::new(&options()).unwrap());
}

#[test]
fn locked_per_core_behaves() {
    behaves(&LockedPerCore::new(&options()).unwrap());
}

/// A table filled in one batch is as small as one filled at once from nothing, but for a few blocks
/// of the latest changes.
#[test]
fn filling_in_one_batch_leaves_little_behind() {
    let prefixes = &crate::generated::TABLE.v4;
    let routes: Vec<_> = prefixes[..200_000]
        .iter()
        .copied()
        .zip(next_hops(1, 200_000, 16))
        .collect();
    let mut compact = Table::<u32>::new().unwrap();
    compact.insert_all(&routes).unwrap();
    let least = compact.memory().used();

    let tables = Shared::new(&Options::for_workers(1)).unwrap();
    let changes: Vec<Change> = routes
        .iter()
        .map(|&(prefix, next_hop)| Change::V4(prefix, next_hop))
        .collect();
    tables.apply(&changes).unwrap();
    let of_v4 = |array: &&ArrayMemory| array.name.starts_with("IPv4");
    let report = tables.memory();
    let filled: usize = report
        .arrays
        .iter()
        .filter(of_v4)
        .map(|array| array.used)
        .sum();
    assert!(
        filled <= least + least / 50,
        "{filled} bytes, filled at once {least}"
    );
}
