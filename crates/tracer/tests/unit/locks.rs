use super::tells;

#[test]
fn a_place_is_the_first_function_that_is_not_the_locks_own() {
    for own in [
        "__lll_lock_wait",
        "std::sys::sync::mutex::futex::Mutex::lock_contended",
        "down_write",
        "__up_read",
        "rt_mutex_slowlock",
        "__traceiter_contention_begin",
        "entry_SYSCALL_64_after_hwframe",
        "0x7fec108b412b",
    ] {
        assert!(!tells(own), "{own}");
    }
    for place in ["insert_route", "fib::lookup", "start_worker", "do_unlinkat"] {
        assert!(tells(place), "{place}");
    }
}
