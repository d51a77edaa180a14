//! Lengths of comparisons.

use planes::plan::{Plan, QUICK, WHOLE};

#[test]
fn the_whole_matrix_fits_twenty_minutes_and_the_quick_one_three() {
    for (quick, bound) in [(false, WHOLE), (true, QUICK)] {
        let planned = Plan::whole(quick, 1).longest();
        assert!(planned < bound, "{planned:?} of {bound:?}");
        // A plan of half the time would measure half as well.
        assert!(planned > bound / 2, "{planned:?} of {bound:?}");
    }
}

#[test]
fn less_to_compare_takes_less_time() {
    let whole = Plan::whole(false, 1);
    let fewer = |change: fn(&mut Plan)| {
        let mut plan = whole.clone();
        change(&mut plan);
        plan.longest()
    };
    for less in [
        fewer(|plan| plan.payloads.truncate(1)),
        fewer(|plan| plan.modes.truncate(1)),
        fewer(|plan| plan.deployments.truncate(4)),
    ] {
        assert!(less < whole.longest());
    }
}
