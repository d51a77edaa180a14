//! A string of bytes read as changes to a table: what the fuzz target and the tests that run in
//! seconds share.

use fib::golden::GoldenTable;
use fib::table::{Capacity, Family, Table, TableStorage};
use fib::{NextHop, Prefix};

/// Room small enough to run out.
const ROOM: Capacity = Capacity { node_words: 2000 };

/// Runs the changes that `bytes` mean in both families, and compares with the golden table after
/// each batch.
///
/// # Panics
/// When the tables differ.
pub(crate) fn run(bytes: &[u8]) {
    match bytes.split_first() {
        Some((first, rest)) if first & 1 == 0 => family::<u32>(rest),
        Some((_, rest)) => family::<u128>(rest),
        None => {}
    }
}

fn family<A: Family>(bytes: &[u8]) {
    let storage = TableStorage::in_memory(ROOM).expect("16 KiB of memory");
    let mut table = Table::<A>::in_storage(vec![storage]);
    let mut golden = GoldenTable::new();
    let mut batch = Vec::new();
    let mut epoch = 0;
    // Twelve bytes a change: eight of address, its upper nibble from few values so that prefixes
    // nest; length; what to do; next hop.
    for change in bytes.as_chunks::<12>().0 {
        let mut address = [0; 16];
        address[..8].copy_from_slice(&change[..8]);
        address[0] = [0x20, 0x2A, 0x0A, 0xFF][usize::from(change[0] & 3)];
        address[15] = change[7];
        let length = change[8] % (A::BITS + 1);
        let prefix = Prefix::containing(A::from_left_aligned(u128::from_be_bytes(address)), length);
        let next_hop = match change[9] % 4 {
            0 => NextHop::NONE,
            1 => NextHop(u16::from(change[10] % 4)),
            _ => NextHop(u16::from_be_bytes([change[10], change[11]])),
        };
        batch.push((prefix, next_hop));
        if change[9] & 0x10 != 0 {
            continue;
        }
        if table.insert_all(&batch).is_ok() {
            for &(prefix, next_hop) in &batch {
                golden.insert(prefix, next_hop);
            }
        }
        compare(&table, &golden, &batch);
        batch.clear();
        if change[9] & 0x20 != 0 {
            epoch += 1;
            table.seal(epoch);
            // SAFETY: nobody looks up at the same time.
            unsafe { table.reclaim(epoch) };
        }
    }
    let all: Vec<_> = golden.routes().collect();
    compare(&table, &golden, &all);
}

fn compare<A: Family>(table: &Table<A>, golden: &GoldenTable<A>, near: &[(Prefix<A>, NextHop)]) {
    let addresses: Vec<A> = near
        .iter()
        .flat_map(|(prefix, _)| [prefix.address(), prefix.last()])
        .collect();
    let mut out = vec![NextHop(u16::MAX); addresses.len()];
    table.lookup_burst(&addresses, &mut out);
    for (&address, &next_hop) in addresses.iter().zip(&out) {
        assert_eq!(next_hop, golden.lookup(address), "{}", address.to_ip());
        assert_eq!(next_hop, table.lookup(address), "{}", address.to_ip());
    }
    assert_eq!(table.len(), golden.len());
}
