use super::*;

fn part(steps: u64) -> Part {
    Part {
        steps,
        table: loops::buffer(4096),
        reads: 1,
    }
}

#[test]
fn threads_meet_at_every_step_and_end_together() {
    let core = host::cores::allowed_cores().unwrap()[0];
    let time = PERIOD * 20;
    for threads in [&[Some(core)][..], &[Some(core), None], &[None, None]] {
        let seen = simulate(threads, &[part(10)], time, || false);
        assert!((1..20).contains(&seen.steps.len()), "{seen:?}");
    }
    assert!(
        simulate(&[None, None], &[part(10)], time, || true)
            .steps
            .is_empty()
    );
}

#[test]
fn two_parts_of_one_thread_are_too_slow_for_the_period() {
    let core = host::cores::allowed_cores().unwrap()[0];
    // A part that was measured while others had the core is too short.
    let all_missed = (0..5).any(|_| {
        let part = Part::new(core, 64 << 10);
        let seen = simulate(&[Some(core)], &[part.clone(), part], PERIOD * 30, || false);
        seen.missed > 0 && seen.missed == seen.steps.len()
    });
    assert!(all_missed);
}
