//! Of `router/src/management_plane/console/mod.rs`.

use super::*;

#[test]
fn only_who_has_the_token_is_admitted() {
    let open = Console::default();
    assert!(open.admits("") && open.admits("anything"));
    let closed = Console::new("0123456789abcdef".to_owned(), &[]);
    assert!(closed.admits("0123456789abcdef"));
    for wrong in [
        "",
        "0123456789abcdeF",
        "0123456789abcde",
        "0123456789abcdef0",
    ] {
        assert!(!closed.admits(wrong), "{wrong}");
    }
}

#[test]
fn a_host_name_of_somebody_else_is_not_ours() {
    for ours in [
        "127.0.0.1:9470",
        "localhost:9470",
        "localhost",
        "[::1]:9470",
        "192.0.2.1",
    ] {
        assert!(is_ours(ours), "{ours}");
    }
    for other in [
        "",
        "evil.example",
        "evil.example:9470",
        "127.0.0.1.evil.example:9470",
        "[evil]:1",
    ] {
        assert!(!is_ours(other), "{other}");
    }
}

#[test]
fn viewers_are_few_and_make_room_when_they_go() {
    let console = Console::default();
    let mut viewers: Vec<Viewer> = (0..VIEWERS).map(|_| console.view().unwrap()).collect();
    assert!(console.view().is_none());
    viewers.pop();
    assert!(console.view().is_some());
}
