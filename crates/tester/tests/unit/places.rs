use super::*;

fn counts(lost: u64, late: u64) -> Counts {
    Counts {
        lost,
        late,
        ..Counts::default()
    }
}

fn seen() -> Seen {
    Seen {
        untaken: 1,
        into_device: 20,
        out_of_device: 300,
        told: Vec::new(),
    }
}

#[test]
fn shares_add_up_to_what_was_lost() {
    for lost in [0, 1, 5, 21, 322, 1_000, 100_000] {
        for reasons in [None, Some(vec![("ttl".to_owned(), 50)])] {
            let shares = divide(&counts(lost, 4), seen(), || reasons);
            let sum: u64 = shares.iter().map(|share| share.frames).sum();
            assert_eq!(sum, lost, "{shares:?}");
        }
    }
}

#[test]
fn what_no_counter_explains_stays_with_the_device() {
    let reasons = Some(vec![("ttl".to_owned(), 50), ("no route".to_owned(), 0)]);
    let shares = divide(&counts(1_000, 4), seen(), || reasons);
    assert_eq!(
        words(&shares),
        "1 at the sender's interface, 20 into the device, 300 out of the device, 4 at the \
         receiver, 50 in the device (ttl), 625 in the device"
    );
}

#[test]
fn an_unseen_device_is_not_blamed() {
    let shares = divide(&counts(400, 0), seen(), || None);
    assert_eq!(shares.last().unwrap().place, Place::Unseen);
}

#[test]
fn a_device_is_not_asked_for_losses_that_interfaces_explain() {
    let shares = divide(&counts(321, 0), seen(), || panic!("it was asked"));
    assert_eq!(words(&shares).split(", ").count(), 3);
}

#[test]
fn what_is_told_of_an_unseen_device_is_its_share_and_no_more_than_was_lost() {
    let with = |frames| Seen {
        told: vec![("rx_drops".to_owned(), frames)],
        ..seen()
    };
    let shares = divide(&counts(1_000, 0), with(600), || None);
    let said = "600 in the device (rx_drops), 79 not seen where";
    assert!(words(&shares).ends_with(said), "{}", words(&shares));
    let shares = divide(&counts(400, 0), with(600), || None);
    assert!(words(&shares).ends_with("79 in the device (rx_drops)"));
}

#[test]
fn an_interface_that_does_not_count_such_frames_refused_none() {
    let counts = Counts {
        sent: 1_000,
        received: 600,
        lost: 400,
        ..Counts::default()
    };
    for (transmitted, refused) in [(1_000, 0), (700, 300), (900, 100), (2, 0)] {
        let ends = Counters {
            transmitted,
            ..Counters::default()
        };
        assert_eq!(untaken(&counts, &ends), refused, "{transmitted}");
    }
}
