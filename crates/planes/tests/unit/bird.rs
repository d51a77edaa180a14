use super::*;

#[test]
fn what_is_announced_to_bird_is_heard_from_it() {
    if !needs::root("to make network namespaces") {
        return;
    }
    if let Err(missing) = installed() {
        return needs::skipped!("{missing}");
    }
    let mut bird = Bird::start(None).unwrap();
    let process = bird.group.leader.id();
    let mut heard = Vec::new();
    // All networks by one side, some of them by the other then.
    for (next, count) in [(0, 300), (super::super::change::NETWORKS, 100)] {
        let changes = Change::following(next, count);
        bird.announce(&changes).unwrap();
        let since = Instant::now();
        heard.clear();
        while heard.len() < count && since.elapsed() < Duration::from_secs(30) {
            heard.extend(bird.heard().unwrap());
            std::thread::sleep(Duration::from_millis(5));
        }
        heard.sort_by_key(|change| change.network);
        heard.dedup();
        assert_eq!(heard, changes);
    }
    drop(bird);
    assert!(!host::process::is_alive(process));
}
