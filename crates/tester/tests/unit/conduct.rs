use super::*;

#[test]
fn the_cores_of_a_trial_are_those_of_all_its_threads() {
    let cores = host::allowed_cores().unwrap();
    let (first, last) = (cores[0], cores[cores.len() - 1]);
    let _pinned = Pinned::to(last).unwrap();
    let device = host::process::this_thread();
    let mut both = vec![first, last];
    both.dedup();
    assert_eq!(needed(Some(first), &cores, &[device]), both);
    // Nobody says where the device works.
    assert_eq!(needed(Some(first), &cores, &[]), cores);
    assert_eq!(needed(None, &cores, &[device]), cores);
}
