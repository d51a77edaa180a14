use super::*;

#[test]
fn jobs_go_beyond_the_cores_and_none_is_built_twice() {
    assert_eq!(counts(1), [1, 2, 4]);
    assert_eq!(counts(2), [1, 2, 3, 4, 8]);
    assert_eq!(counts(4), [1, 2, 4, 5, 8, 16]);
}

#[test]
fn times_are_compared_within_the_rounds() {
    let counts = counts(2);
    let mut built = Rounds::new(counts.len(), 1);
    let mut round = 0;
    // Every round takes longer than the one before; two jobs take half of one's, eight a fourth
    // more than two.
    for pace in [1, 2, 3, 4, 5] {
        built
            .run(1, |place| {
                round += 1;
                let milliseconds = pace * [400, 200, 200, 200, 250][place];
                Ok::<_, ()>(Outcome {
                    wall: Duration::from_millis(milliseconds),
                    user: Duration::from_millis(pace * 400),
                    ..Outcome::default()
                })
            })
            .unwrap();
    }
    assert_eq!(round, 25);
    let found = told(&counts, 2, &built);
    assert_eq!(found.lines[1].now, ["0.60 s", "0.50 [0.50, 0.50]", "2.00"]);
    assert!(
        found
            .sentence
            .contains("8 jobs take 1.25 [1.25, 1.25] times as long as 2"),
        "{}",
        found.sentence
    );
}
