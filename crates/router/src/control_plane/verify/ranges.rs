//! The kernel's routes flattened: ranges of addresses that share what is expected of them.

use fib::{Address, Prefix};

use crate::control_plane::model::{DEFAULT_TABLE, LOCAL_TABLE};

/// What is expected where the kernel has no route, or does what only it can do.
pub(super) const KERNEL: u32 = 0;

/// A route of the kernel.
#[derive(Clone, Copy)]
pub(super) struct Line<A> {
    pub(super) address: A,
    pub(super) metric: u32,
    pub(super) expected: u32,
    pub(super) length: u8,
    /// Which table is asked first: 0 the local one, 1 the domain's, 2 the default one.
    pub(super) rank: u8,
}

pub(super) fn line<A: Address>(
    table: u32,
    prefix: Prefix<A>,
    metric: u32,
    expected: u32,
) -> Line<A> {
    let rank = match table {
        LOCAL_TABLE => 0,
        DEFAULT_TABLE => 2,
        _ => 1,
    };
    Line {
        address: prefix.address(),
        metric,
        expected,
        length: prefix.length(),
        rank,
    }
}

/// The address before this one.
pub(super) fn before<A: Address>(address: A) -> A {
    let unit = 1u128 << (128 - u32::from(A::BITS));
    A::from_left_aligned(address.left_aligned().wrapping_sub(unit))
}

/// Sorted prefixes as ranges: where each begins and what is expected there. Addresses before the
/// first and after the last prefix have no route, which is the kernel's business.
pub(super) fn ranges<A: Address>(lines: &[Line<A>]) -> Vec<(A, u32)> {
    let mut ranges: Vec<(A, u32)> = vec![(A::default(), KERNEL)];
    let mut begin = |at: A, expected: u32| match ranges.last_mut() {
        Some(last) if last.0 == at => last.1 = expected,
        Some(last) if last.1 == expected => {}
        _ => ranges.push((at, expected)),
    };
    let unit = 1u128 << (128 - u32::from(A::BITS));
    // Prefixes that contain the current place, the innermost last: their last address, what they
    // say, and whether they are of the local table, which hides everything inside.
    let mut open: Vec<(A, u32, bool)> = Vec::new();
    let close =
        |open: &mut Vec<(A, u32, bool)>, until: Option<A>, begin: &mut dyn FnMut(A, u32)| {
            while let Some(&(last, _, _)) = open.last()
                && until.is_none_or(|until| last < until)
            {
                open.pop();
                let outer = open.last().map_or(KERNEL, |outer| outer.1);
                if let Some(next) = last.left_aligned().checked_add(unit) {
                    begin(A::from_left_aligned(next), outer);
                }
            }
        };
    for line in lines {
        close(&mut open, Some(line.address), &mut begin);
        let hidden = open.last().is_some_and(|outer| outer.2);
        let expected = if hidden { KERNEL } else { line.expected };
        let last = Prefix::containing(line.address, line.length).last();
        begin(line.address, expected);
        open.push((last, expected, hidden || line.rank == 0));
    }
    close(&mut open, None, &mut begin);
    ranges
}

#[cfg(test)]
#[path = "../../../tests/unit/ranges.rs"]
mod tests;
