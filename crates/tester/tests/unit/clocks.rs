use super::*;

fn clocks(boot: &str, offset: i64, error: Option<u64>) -> Clocks {
    Clocks {
        boot: boot.to_owned(),
        real_less_monotonic_ns: offset,
        largest_error_ns: error,
    }
}

#[test]
fn delays_need_one_clock_or_two_disciplined_ones() {
    let here = Clocks::read();
    assert_eq!(Clocks::relation(&here, &here), Relation::Same);
    let relation = |a, b| Clocks::relation(&clocks("a", 1_000, a), &clocks("b", 5_000, b));
    assert_eq!(relation(Some(1), None), Relation::Unknown);
    // The receiver booted later: the same real time is a smaller monotonic one there.
    assert_eq!(
        relation(Some(10), Some(20)),
        Relation::Disciplined {
            receiver_plus_ns: 4_000,
            error_ns: 30
        }
    );
}
