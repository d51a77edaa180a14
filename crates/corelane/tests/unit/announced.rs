//! Of `corelane/src/announce/decision.rs`.

use super::*;

/// What is told at each second, when each look says so: `r` ready, `n` not ready, `d` draining.
/// `+` announce, `-` withdraw, `.` nothing. What `fails` names cannot be told in these seconds.
fn told(looks: u32, after: u64, script: &str, fails: &[usize]) -> String {
    let after = Duration::from_secs(after);
    let mut decision = Decision::new(Patience { looks, after });
    let began = Instant::now();
    let steps = script.chars().enumerate().map(|(second, seen)| {
        let now = began + Duration::from_secs(second as u64);
        let tell = decision.look(seen == 'r', seen == 'd', now);
        if let Some(announced) = tell.filter(|_| !fails.contains(&second)) {
            decision.is_told(announced);
        }
        tell.map_or('.', |announced| if announced { '+' } else { '-' })
    });
    steps.collect()
}

#[test]
fn it_withdraws_at_once_and_announces_late_and_says_nothing_twice() {
    for (script, expected) in [
        ("rrrrrr", "...+.."),
        ("nnnn", "-..."),
        ("rrrrnrrrrr", "...+-...+."),
        // Ready for a moment is not enough, and each moment counts anew.
        ("nrrrnrrrr", "-.......+"),
    ] {
        assert_eq!(told(1, 3, script, &[]), expected, "{script}");
    }
    assert_eq!(told(1, 0, "rnrn", &[]), "+-+-");
}

#[test]
fn it_withdraws_after_so_many_looks_in_a_row() {
    assert_eq!(told(3, 0, "rnnrnnnnr", &[]), "+.....-.+");
    // A look that is not ready still begins the time anew, in which it has to be ready.
    assert_eq!(told(2, 2, "nnrrnrrr", &[]), ".-.....+");
}

#[test]
fn what_cannot_be_told_is_told_again() {
    assert_eq!(told(1, 1, "rrrnnnr", &[1, 3]), ".++--..");
    // It is not told any more what does not hold any more.
    assert_eq!(told(1, 0, "nrn", &[0, 1]), "-+-");
}

#[test]
fn undrain_is_undone_while_the_router_is_not_ready() {
    assert_eq!(told(1, 0, "rddnnr", &[]), "+-.-.+");
    // What undrain has told is told again after the usual time.
    assert_eq!(told(1, 2, "dddrrrr", &[]), "-....+.");
}
