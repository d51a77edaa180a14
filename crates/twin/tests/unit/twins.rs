//! Of `twin/src/twins.rs`.

use super::*;

fn try_of(numbers: &[u16], cause: Option<Cause>) -> Comparison {
    let difference = |&number| Difference {
        number,
        kernel: Vec::new(),
        router: Vec::new(),
    };
    Comparison {
        differences: numbers.iter().map(difference).collect(),
        cause,
        ..Comparison::default()
    }
}

#[test]
fn no_cause_excuses_what_differs_twice() {
    let causes = [
        Cause::Unanswered,
        Cause::Unlike,
        Cause::NoRoom,
        Cause::Crowded,
        Cause::Slow,
        Cause::Unheard,
    ];
    let numbers = |all: &[Difference]| -> Vec<u16> {
        all.iter().map(|difference| difference.number).collect()
    };
    for cause in causes.map(Some) {
        let twice = Compared::of(try_of(&[1, 2], cause), try_of(&[1, 2], cause));
        assert_eq!(numbers(&twice.lasting), [1, 2], "{cause:?}");
        assert!(twice.once.is_empty() && twice.cause.is_none(), "{cause:?}");
        let some = Compared::of(try_of(&[1, 2], cause), try_of(&[2, 3], None));
        assert_eq!(numbers(&some.lasting), [2], "{cause:?}");
        assert_eq!(numbers(&some.once), [3, 1], "{cause:?}");
        assert_eq!(some.cause, cause);
    }
    let without = Compared::of(try_of(&[1], None), try_of(&[], None));
    assert_eq!(without.cause, Some(Cause::Unexplained));
    assert_eq!(
        (numbers(&without.once), without.lasting.len()),
        (vec![1], 0)
    );
    let never = Compared::of(try_of(&[], None), Comparison::default());
    assert!(never.cause.is_none() && never.once.is_empty() && never.lasting.is_empty());
}
