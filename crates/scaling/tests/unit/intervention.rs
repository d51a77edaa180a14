use super::*;

#[test]
fn an_effect_either_way_counts_if_it_clears_the_control() {
    let control = Estimate::of(&[1.02, 0.98, 1.0, 1.01, 0.99], 1);
    let change =
        |with: [f64; 5]| Intervention::new("x".to_owned(), &Estimate::of(&with, 1), &control);
    assert!(change([1.2, 1.21, 1.19, 1.2, 1.22]).felt);
    assert!(change([0.8, 0.81, 0.79, 0.8, 0.82]).felt);
    assert!(!change([1.01, 0.99, 1.0, 1.03, 0.97]).felt);
}
