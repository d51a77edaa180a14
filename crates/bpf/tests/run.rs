//! Programs that are run by hand.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use bpf::sys::{self, Hook, Instruction, run_dry};

static CAME: AtomicU32 = AtomicU32::new(0);

extern "C" fn count(_: libc::c_int) {
    CAME.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn a_run_that_signals_break_off_is_made_to_its_end() {
    if !needs::root("to load a program") {
        return;
    }
    let one = |code, immediate| Instruction {
        code,
        registers: 0,
        offset: 0,
        immediate,
    };
    // r0 = 2; exit
    let code = [one(0xb7, 2), one(0x95, 0)];
    let mut log = vec![0; 1 << 12];
    let program = sys::program_load(Hook::Xdp, "two", &code, "GPL", 0, 0, &mut log).unwrap();
    // SAFETY: the handler only counts; it stays as long as the process.
    unsafe { libc::signal(libc::SIGUSR2, count as *const () as libc::sighandler_t) };
    // SAFETY: no arguments.
    let here = unsafe { libc::pthread_self() };
    let done = AtomicBool::new(false);
    let result = thread::scope(|scope| {
        scope.spawn(|| {
            // Fewer than there are runs in the time that one takes, then none.
            for _ in 0..20 {
                thread::sleep(Duration::from_millis(2));
                if done.load(Ordering::Relaxed) {
                    break;
                }
                // SAFETY: that thread lives as long as this scope.
                unsafe { libc::pthread_kill(here, libc::SIGUSR2) };
            }
        });
        let result = run_dry(program.as_fd(), &[0; 64], 0, 10_000_000);
        done.store(true, Ordering::Relaxed);
        result
    });
    assert_eq!(result.unwrap().verdict, 2);
    assert!(CAME.load(Ordering::Relaxed) > 0, "a signal came in between");
}
