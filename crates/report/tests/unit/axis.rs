use super::*;

fn words(fitted: &Fitted) -> Vec<&str> {
    fitted.ticks.iter().map(|(_, word)| word.as_str()).collect()
}

#[test]
fn linear_ticks_are_round_and_cover_the_data() {
    let fitted = Axis::new("").from_zero().fit(&[3.1e6, 31.4e6], 5);
    assert_eq!(words(&fitted), ["0", "10 M", "20 M", "30 M", "40 M"]);
    assert_eq!(fitted.place(20e6), Some(0.5));
    assert_eq!(fitted.place(80e6), Some(1.0), "held at the end");
}

#[test]
fn logarithmic_ticks_are_decades() {
    let fitted = Axis::new("").logarithmic().fit(&[20.0, 3_000.0], 5);
    assert_eq!(words(&fitted), ["10", "100", "1 k", "10 k"]);
    assert_eq!(fitted.place(0.0), None);
    assert!((fitted.place(100.0).unwrap() - 1.0 / 3.0).abs() < 1e-12);
}

#[test]
fn no_data_and_one_value_still_make_an_axis() {
    for values in [&[][..], &[5.0], &[0.0]] {
        for axis in [
            Axis::new(""),
            Axis::new("").from_zero(),
            Axis::new("").logarithmic(),
        ] {
            let fitted = axis.fit(values, 5);
            assert!(
                fitted.high > fitted.low && fitted.ticks.len() < 20,
                "{values:?}"
            );
        }
    }
}

#[test]
fn categories_stand_at_whole_numbers() {
    let fitted = Axis::new("").categories(["a", "b"]).fit(&[0.0, 1.0], 5);
    assert_eq!(words(&fitted), ["a", "b"]);
    assert_eq!(fitted.place(0.0), Some(0.25));
}

#[test]
fn steps_are_round() {
    for (step, round) in [
        (0.7, 1.0),
        (1.2, 2.0),
        (2.2, 2.5),
        (3.0, 5.0),
        (6.0, 10.0),
        (0.03, 0.05),
    ] {
        assert!((round_step(step) - round).abs() < 1e-12, "{step}");
    }
}
