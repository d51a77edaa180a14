use super::*;

#[test]
fn our_own_engine_is_a_workload_by_a_name_of_its_own() {
    let all = workloads();
    let named = |name: &str| all.iter().filter(|one| one.name == name).count();
    assert!(
        all.iter()
            .all(|one| named(one.name) == 1 && one.sentence.ends_with('.'))
    );
    assert_eq!(
        choose(&["forward".to_owned()]).map(|found| found.len()),
        Ok(1)
    );
}
