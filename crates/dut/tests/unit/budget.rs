//! Of `dut/src/budget.rs`.

use super::*;

/// What a step costs in this test, ns.
fn cost(step: Step) -> f64 {
    match step {
        Step::Search => 20.0,
        Step::Counters => 5.0,
        _ => 1.0,
    }
}

/// A case in which steps cost that much, whatever else is done, and the clock drifts.
fn case(family: Family) -> Case {
    let programs = Program::all(family).into_iter().map(|program| {
        let base = match program {
            Program::Dropped => 100.0,
            Program::Redirected => 150.0,
            _ => 160.0,
        };
        let steps = Step::of(family).filter(|&step| program.does(step));
        let all = base + steps.map(cost).sum::<f64>();
        Measured {
            nanoseconds: (0..12).map(|round| all + f64::from(round)).collect(),
            program,
            sent: 1000,
            arrived: 1000,
        }
    });
    Case {
        family,
        destinations: 1 << 20,
        programs: programs.collect(),
    }
}

fn row(table: &Table, step: &str) -> Vec<String> {
    let row = table.rows.iter().find(|row| row[0] == step);
    row.unwrap_or_else(|| panic!("no row {step}")).clone()
}

#[test]
fn every_program_is_there_once_and_the_whole_is_one_of_them() {
    for family in [Family::Ipv4, Family::Ipv6] {
        let all = Program::all(family);
        for (place, program) in all.iter().enumerate() {
            assert!(!all[..place].contains(program), "{program:?}");
        }
        assert!(all.contains(&Program::Without(Vec::new())));
        for step in Step::of(family) {
            assert!(all.contains(&Program::Without(vec![step])), "{step:?}");
        }
    }
    assert!(!Program::all(Family::Ipv6).contains(&Program::Without(vec![Step::Sources])));
}

#[test]
fn only_what_is_compiled_otherwise_has_flags() {
    assert_eq!(Program::Without(Vec::new()).flags(), None);
    assert_eq!(Program::Without(vec![Step::Refusals]).flags(), None);
    assert_eq!(Program::Dropped.flags(), None);
    assert_eq!(Program::Again.flags(), Some(vec![]));
    let without = Program::Without(vec![Step::Search, Step::Refusals]);
    assert_eq!(without.flags(), Some(vec!["-DWITHOUT_SEARCH"]));
}

#[test]
fn known_costs_stand_in_their_rows_whatever_the_drift() {
    let table = case(Family::Ipv4).table(64, 1);
    let redirect = row(&table, "redirect, its flush, second cable");
    assert_eq!(redirect[2], "50.0 (50.0 to 50.0)");
    let search = row(&table, "search");
    assert_eq!(search[2], "20.0 (20.0 to 20.0)");
    assert_eq!(search[3], "20.0 (20.0 to 20.0)");
    let rewrite = row(&table, "rewrite");
    assert_eq!(rewrite[1..], ["", "", "1.0 (1.0 to 1.0)"]);
    // The last step is added to the whole: 160, 25 and eight more, and half of the drift.
    assert_eq!(row(&table, "refused frames, at tracepoints")[1], "198.5");
    assert!(
        table
            .caption
            .contains("Of 22,000 frames sent 22,000 arrived."),
        "{}",
        table.caption
    );
}

#[test]
fn a_difference_within_chance_is_no_figure() {
    let mut case = case(Family::Ipv6);
    let again = case
        .programs
        .iter_mut()
        .find(|one| one.program == Program::Again)
        .unwrap();
    for (round, nanoseconds) in again.nanoseconds.iter_mut().enumerate() {
        *nanoseconds += [3.0, -3.0][round % 2];
    }
    let table = case.table(64, 1);
    assert_eq!(row(&table, "next hop")[2], "– (1.0 to 1.0)");
    assert_eq!(row(&table, "search")[2], "20.0 (20.0 to 20.0)");
    assert!(!table.rows.iter().any(|row| row[0] == "source validation"));
}

#[test]
fn another_object_is_held_against_the_one_that_ships() {
    let mut case = case(Family::Ipv4);
    let shipped = case.nanoseconds(&Program::Without(Vec::new())).to_vec();
    case.programs.push(Measured {
        program: Program::Object("faster.o".to_owned()),
        nanoseconds: shipped
            .iter()
            .map(|nanoseconds| nanoseconds - 4.0)
            .collect(),
        sent: 0,
        arrived: 0,
    });
    assert_eq!(
        row(&case.table(64, 1), "faster.o")[2],
        "-4.0 (-4.0 to -4.0)"
    );
}
