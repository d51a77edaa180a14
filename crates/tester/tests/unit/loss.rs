use super::*;

fn curve(knee: f64, extra: u32) -> Vec<f64> {
    let mut plan = Plan::new(0.1, extra);
    let mut shares = Vec::new();
    while let Some(share) = plan.next_share() {
        shares.push(share);
        plan.measured(share, (share - knee).max(0.0));
    }
    shares
}

#[test]
fn it_stops_after_two_rates_without_loss() {
    let shares: Vec<_> = curve(0.75, 0)
        .iter()
        .map(|share| (share * 10.0).round())
        .collect();
    assert_eq!(shares, [10.0, 9.0, 8.0, 7.0, 6.0]);
    assert_eq!(
        curve(1.0, 3).len(),
        2,
        "without loss there is no knee to look for"
    );
    assert_eq!(curve(0.0, 0).len(), 10);
}

#[test]
fn extra_points_close_in_on_the_knee() {
    let shares = curve(0.75, 4);
    assert_eq!(shares.len(), 9);
    assert!((shares[8] - 0.75).abs() < 0.1 / 8.0, "{shares:?}");
}
