use super::*;

#[test]
fn version_2_is_taken_where_it_has_the_controller() {
    let mounts =
        "cgroup /c/cpuset cgroup rw,relatime,cpuset 0 0\ncgroup2 /c/unified cgroup2 rw 0 0\n";
    let with = |_: &Path| "cpu cpuset io".to_owned();
    let without = |_: &Path| "cpu io".to_owned();
    assert_eq!(
        find_controller(mounts, with),
        Some((Version::V2, "/c/unified".into()))
    );
    assert_eq!(
        find_controller(mounts, without),
        Some((Version::V1, "/c/cpuset".into()))
    );
    assert_eq!(find_controller("tmpfs /tmp tmpfs rw 0 0\n", with), None);
}
