//! Which next hop of a group each bucket of flow hashes belongs to, so that a change of members
//! moves no more flows than it must ("resilient" hashing).
//!
//! A frame's flow hash picks a bucket; the bucket names a member. When a member goes, its buckets
//! are dealt to the others and no other bucket changes: flows of the members that stay keep their
//! way. When a member comes, it takes its fair share from those that have more than theirs. The
//! kernel's default groups do not promise this; its resilient ones do.

use fib::NextHop;

/// Buckets of a group: at least this many, so that shares of few members come out fair.
pub const MINIMUM: usize = 64;
/// Buckets of a group: at most this many, whatever the number of members.
pub const MAXIMUM: usize = 1024;

/// Deals `old` buckets anew to `members` (next hop and weight, at least 1), moving as few as
/// possible. An empty `old` starts a fresh group. The result is empty only when `members` is.
///
/// A fresh group gets 16 buckets for each unit of weight in lowest terms (200 and 200 are 1 and 1),
/// as a power of two between [`MINIMUM`] and [`MAXIMUM`]; a
/// group keeps its size for life, so that `hash % size` keeps meaning the same.
pub fn deal(old: &[NextHop], members: &[(NextHop, u16)]) -> Vec<NextHop> {
    let total: u64 = members.iter().map(|&(_, weight)| u64::from(weight)).sum();
    if total == 0 {
        return Vec::new();
    }
    let size = if old.is_empty() {
        let weights = members.iter().map(|&(_, weight)| u64::from(weight));
        let unit = weights.fold(0, divisor);
        (16 * (total / unit) as usize)
            .next_power_of_two()
            .clamp(MINIMUM, MAXIMUM)
    } else {
        old.len()
    };
    let shares = fair_shares(members, total, size);
    let mut room = shares.clone();
    let mut buckets: Vec<Option<NextHop>> = vec![None; size];
    for (bucket, owner) in buckets.iter_mut().zip(old) {
        if let Some(at) = members.iter().position(|(member, _)| member == owner)
            && room[at] > 0
        {
            room[at] -= 1;
            *bucket = Some(*owner);
        }
    }
    // What is left over goes round the members that have room, one bucket each, so that neighbours
    // in hash differ.
    let mut turn = 0;
    for bucket in buckets.iter_mut().filter(|bucket| bucket.is_none()) {
        while room[turn % members.len()] == 0 {
            turn += 1;
        }
        let at = turn % members.len();
        room[at] -= 1;
        *bucket = Some(members[at].0);
        turn += 1;
    }
    buckets.into_iter().flatten().collect()
}

/// The greatest number that divides both (Euclid).
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// How many of `size` buckets each member should have: its weight's share, the remainder to the
/// first ones.
fn fair_shares(members: &[(NextHop, u16)], total: u64, size: usize) -> Vec<usize> {
    let mut shares: Vec<usize> = members
        .iter()
        .map(|&(_, weight)| (size as u64 * u64::from(weight) / total) as usize)
        .collect();
    let missing = size - shares.iter().sum::<usize>();
    // Each share was rounded down by less than one, so fewer are missing than there are members.
    for share in shares.iter_mut().take(missing) {
        *share += 1;
    }
    shares
}
