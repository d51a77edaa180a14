use super::*;

#[test]
fn silence_is_counted_from_the_last_beat() {
    let mut watch = PeerWatch::new(100, 0);
    assert_eq!(watch.observe(PeerState::Absent, 0, 50), Peer::Absent);
    assert_eq!(watch.observe(PeerState::Open, 1, 500), Peer::Alive);
    assert_eq!(watch.observe(PeerState::Open, 1, 600), Peer::Alive);
    assert_eq!(watch.observe(PeerState::Open, 1, 601), Peer::Silent(101));
    assert_eq!(watch.observe(PeerState::Open, 2, 700), Peer::Alive);
    assert_eq!(watch.observe(PeerState::Closed, 2, 9_000), Peer::Closed);
}
