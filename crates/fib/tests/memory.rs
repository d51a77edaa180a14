//! The memory reports against what is really allocated.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use fib::generated::next_hops;
use fib::{Family, Prefix, Table};

/// Counts the bytes that each thread has allocated and not freed.
struct Counting;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

fn count(change: isize) {
    LIVE.set(LIVE.get() + change);
}

// SAFETY: everything is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static HEAP: Counting = Counting;

/// Structs of the table that are no arrays: handles, short lists of a transaction.
const SMALL: usize = 4096;

fn report_is_exact<A: Family>(prefixes: &[Prefix<A>]) {
    let routes: Vec<_> = prefixes
        .iter()
        .copied()
        .zip(next_hops(1, prefixes.len(), 16))
        .collect();
    let before = LIVE.get();
    let mut table = Table::<A>::new().expect("memory");
    table.insert_all(&routes).expect("room");
    let heap = (LIVE.get() - before) as usize;
    let reported = table.route_memory().used();
    assert!(
        heap.abs_diff(reported) <= SMALL,
        "{heap} bytes on the heap, {reported} reported"
    );
    let arrays = table.memory();
    assert_eq!(arrays.arrays[0].reserved, A::ROOT * size_of::<A::Entry>());
    assert_eq!(
        arrays.arrays[1].reserved,
        fib::table::Capacity::default().node_words * 8
    );
    assert!(arrays.arrays[1].used <= arrays.arrays[1].reserved);
}

#[test]
fn reports_equal_what_is_allocated() {
    let prefixes = &*crate::generated::TABLE;
    report_is_exact(&prefixes.v4);
    report_is_exact(&prefixes.v6);
}
