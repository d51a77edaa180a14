use host::netlink::Dumped;

use super::*;

#[derive(Debug, Default)]
struct Numbers(Vec<u16>);

impl State for Numbers {
    fn hear(&mut self, message: Message<'_>) -> bool {
        self.0.push(message.kind);
        true
    }

    fn join(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

fn known() -> Known<Numbers> {
    Known::new("numbers", Treatment::Netfilter, None)
}

fn unknown(known: &Known<Numbers>) -> Option<&str> {
    known.unknown().map(|finding| finding.what.as_str())
}

#[test]
fn what_could_not_be_read_counts_until_it_has_been_read() {
    let mut known = known();
    assert!(known.begin(), "nothing has been read yet");
    known.end(Some(Err(io::Error::other("no"))));
    assert_eq!(unknown(&known), Some("numbers could not be read: no"));
    assert!(known.begin(), "it is tried again");
    known.end(Some(Ok(Numbers(vec![1]))));
    assert_eq!(unknown(&known), None);
    assert!(!known.begin(), "nothing has changed");
    // A look at other parts says nothing about this one.
    known.fail(&io::Error::other("no thread"));
    known.end(None);
    assert_eq!(
        unknown(&known),
        Some("numbers could not be read: no thread")
    );
}

#[test]
fn what_was_announced_during_a_look_is_kept_and_read_again() {
    let mut known = known();
    known.begin();
    let message = |kind| Message {
        kind,
        flags: 0,
        payload: &[],
        dumped: false,
    };
    known.take(message(5));
    known.end(Some(Ok(Numbers(vec![1]))));
    assert_eq!(known.state.0, [1, 5]);
    assert!(known.begin());
    known.end(Some(Ok(Numbers(vec![1]))));
    assert_eq!(known.state.0, [1]);
    known.begin();
    known.lose(&io::Error::other("announcements were lost"));
    known.end(Some(Ok(Numbers(vec![2]))));
    assert!(
        unknown(&known).is_some(),
        "the look may not have seen what was lost"
    );
    known.begin();
    known.end(Some(Ok(Numbers(vec![2]))));
    assert_eq!(unknown(&known), None);
}

#[test]
fn a_list_that_changed_while_it_was_read_is_read_again() {
    let mut times = 0;
    let mut read = |until: u32| {
        times = 0;
        super::super::whole(|all: &mut Vec<u32>| {
            times += 1;
            all.push(times);
            Ok(if times < until {
                Dumped::Interrupted
            } else {
                Dumped::Whole
            })
        })
    };
    assert_eq!(read(3).unwrap(), [3], "nothing of what was read before");
    assert!(read(u32::MAX).is_err(), "nobody knows");
}
