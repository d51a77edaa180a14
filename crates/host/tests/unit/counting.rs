//! Of `host/src/counting.rs`.

use super::*;

/// Stretches of a millisecond, one behind the other from 0 ns on, with these counts.
pub(crate) fn counting(counts: impl IntoIterator<Item = u64>) -> Counting {
    let stretches = (0..).zip(counts).map(|(place, count)| Stretch {
        span: Span {
            from_ns: place * 1_000_000,
            to_ns: (place + 1) * 1_000_000,
        },
        count,
    });
    Counting {
        parts: vec![stretches.collect()],
        own: None,
    }
}

#[test]
fn stretches_follow_each_other_and_their_sums_close() {
    let mut count = 0;
    let counting = Counting::of(Duration::from_millis(20), || {
        count += 5;
        Ok::<_, ()>(count)
    });
    let counting = counting.unwrap();
    let spans: Vec<Span> = counting.parts[0].iter().map(|one| one.span).collect();
    assert!(spans.is_sorted_by(|one, next| one.to_ns == next.from_ns));
    let span = counting.span().unwrap();
    let seconds = (span.to_ns - span.from_ns) as f64 * 1e-9;
    assert!(seconds >= 0.019, "{seconds} s");
    assert!((super::seconds(&counting.parts[0]) - seconds).abs() < 1e-9);
    let sum: u64 = counting.parts[0].iter().map(|one| one.count).sum();
    // The first reading is where counting begins; interrupted ones are made again.
    assert!(sum <= count - 5 && sum >= 5, "{sum} of {count}");
    assert!((counting.per_second() * seconds - sum as f64).abs() < 1e-3);
}

#[test]
fn what_is_left_out_is_neither_counted_nor_timed() {
    let all = counting([3, 100, 5]);
    assert!((all.per_second() - 36_000.0).abs() < 1e-6);
    let some = all.within(|span| span.from_ns != 1_000_000);
    assert!((some.per_second() - 4_000.0).abs() < 1e-6);
    assert!((some.share_of(&all) - 2.0 / 3.0).abs() < 1e-9);
    let none = all.within(|_| false);
    assert!(none.span().is_none() && none.per_second() == 0.0);
}

#[test]
fn an_error_ends_it() {
    let mut left = 2;
    let counting = Counting::of(Duration::from_millis(50), || {
        left -= 1;
        if left == 0 { Err("gone") } else { Ok(1) }
    });
    assert_eq!(counting, Err("gone"));
}

#[test]
fn what_another_had_a_core_for_is_missed_by_who_counts_there() {
    let mark = |begun_ms: u64| Mark {
        begun_ns: begun_ms * 1_000_000,
        took_ns: 0,
        count: begun_ms,
    };
    // One core does without for 0 of 2 ms, the other for 3 of 4.
    let every = |begun_ms: u64| Mark {
        begun_ns: begun_ms * 100_000,
        ..mark(0)
    };
    let (calm, beside) = ((0..=20).map(every).collect(), [0, 3].map(mark).to_vec());
    let beside: Vec<Mark> = beside.into_iter().chain((31..=40).map(every)).collect();
    let both = Counting::by_cores(Timer::Program, vec![calm, beside]).unwrap();
    assert!((both.missed() - 0.75).abs() < 1e-9, "{}", both.missed());
    // Stretches between the readings of another thread say nothing of that.
    assert!(counting([1, 2, 3]).missed() == 0.0);
}

#[test]
fn cores_that_count_for_themselves_have_their_own_time() {
    let mark = |begun_ns: u64, count| Mark {
        begun_ns: begun_ns * 1_000,
        took_ns: 1_000,
        count,
    };
    // 100 in 99 us and in 199 us, without the microsecond of the piece of work before each.
    let first = vec![mark(0, 7), mark(100, 107), mark(300, 207)];
    let second = vec![mark(50, 0), mark(150, 50)];
    let both = Counting::by_cores(Timer::Program, vec![first.clone(), second]).unwrap();
    let rate = 200.0 / 298e-6 + 50.0 / 99e-6;
    assert!((both.per_second() / rate - 1.0).abs() < 1e-9);
    let span = both.span().unwrap();
    assert_eq!((span.from_ns, span.to_ns), (1_000, 300_000));
    let early = both.within(|span| span.to_ns <= 150_000);
    assert!(
        (early.share_of(&both) - 99.0 / 298.0).abs() < 1e-9,
        "of the first"
    );
    let none = Counting::by_cores(Timer::Program, vec![first, vec![mark(0, 0)]]);
    assert!(none.is_none(), "one mark is no stretch");
    assert!(Counting::by_cores(Timer::Program, Vec::new()).is_none());
}
