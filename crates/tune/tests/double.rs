//! Settings that no device of this machine may have, on a double.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;

use tune::{Access, Change, Outcome, Records, Setting, apply, undo};

/// A card whose settings are in memory.
#[derive(Debug)]
struct Card {
    index: u32,
    values: RefCell<BTreeMap<Setting, String>>,
    /// What it refuses.
    refuses: RefCell<Vec<Setting>>,
}

impl Card {
    fn new() -> Self {
        let values = [
            (Setting::Queues, "rx 0 tx 0 combined 2"),
            (Setting::Rings, "rx 256 tx 256"),
            (Setting::Coalescing, "adaptive 0 usecs 0 frames 0"),
            (Setting::RssTable, "1 1 0 1"),
            (Setting::InterruptCores(24), "0-1"),
            (Setting::InterruptCores(25), "0-1"),
            (Setting::SendCores(1), "1"),
        ];
        let values = values.map(|(setting, value)| (setting, value.to_owned()));
        Self {
            index: 7,
            values: RefCell::new(values.into()),
            refuses: RefCell::default(),
        }
    }

    fn values(&self) -> BTreeMap<Setting, String> {
        self.values.borrow().clone()
    }
}

impl Access for Card {
    fn index(&self, _: &str) -> io::Result<u32> {
        Ok(self.index)
    }

    fn read(&self, _: &str, setting: Setting) -> io::Result<String> {
        let value = self.values.borrow().get(&setting).cloned();
        value.ok_or(io::ErrorKind::NotFound.into())
    }

    fn write(&self, _: &str, setting: Setting, value: &str) -> io::Result<()> {
        if self.refuses.borrow().contains(&setting) {
            return Err(io::Error::other("the card is asleep"));
        }
        let mut values = self.values.borrow_mut();
        let mut value = value.to_owned();
        if setting == Setting::Queues {
            // As drivers do: what belongs to a queue that ends is forgotten, and queues cannot end
            // while the table names them.
            if value.ends_with('1') {
                if values[&Setting::RssTable].contains("0 1") {
                    return Err(io::ErrorKind::InvalidInput.into());
                }
                values.remove(&Setting::SendCores(1));
            } else {
                values.insert(Setting::SendCores(1), "none".to_owned());
            }
        }
        if setting == Setting::Rings && value.starts_with("rx 1000 ") {
            "rx 1024 tx 1024".clone_into(&mut value);
        }
        values.insert(setting, value);
        Ok(())
    }

    fn of_queues(&self, _: &str) -> Vec<Setting> {
        vec![Setting::RssTable, Setting::SendCores(1)]
    }
}

fn change(setting: Setting, card: &Card, to: &str) -> Change {
    Change {
        port: "eth0".to_owned(),
        setting,
        from: card.read("eth0", setting).unwrap(),
        to: to.to_owned(),
        why: "",
    }
}

fn records() -> (tempfile::TempDir, Records) {
    let directory = tempfile::tempdir().unwrap();
    let records = Records::open(directory.path()).unwrap();
    (directory, records)
}

#[test]
fn what_a_driver_forgets_with_its_queues_is_put_back_too() {
    let (card, (_directory, records)) = (Card::new(), records());
    let before = card.values();
    let wanted = [
        (Setting::RssTable, "equal 1"),
        (Setting::Queues, "rx 0 tx 0 combined 1"),
        (Setting::Rings, "rx 1024 tx 1024"),
        (Setting::Coalescing, "adaptive 0 usecs 16 frames 0"),
        (Setting::InterruptCores(24), "0"),
        (Setting::InterruptCores(25), "1"),
    ];
    for (setting, to) in wanted {
        let made = apply(&card, &records, &change(setting, &card, to)).unwrap();
        assert_eq!(made.outcome, Outcome::Done, "{setting}");
    }
    assert!(card.read("eth0", Setting::SendCores(1)).is_err());
    let back = undo(&card, &records, "eth0").unwrap().unwrap();
    assert!(
        back.iter().all(|made| made.outcome == Outcome::Done),
        "{back:?}"
    );
    assert_eq!(card.values(), before);
    assert_eq!(undo(&card, &records, "eth0").unwrap(), None);
}

#[test]
fn queues_that_only_fit_the_former_table_are_put_back_after_it() {
    let (card, (_directory, records)) = (Card::new(), records());
    for setting in [Setting::Queues, Setting::RssTable] {
        let former = match setting {
            Setting::Queues => "rx 0 tx 0 combined 1",
            _ => "equal 1",
        };
        card.values.borrow_mut().insert(setting, former.to_owned());
    }
    let before = card.values();
    let more = change(Setting::Queues, &card, "rx 0 tx 0 combined 2");
    apply(&card, &records, &more).unwrap();
    let table = change(Setting::RssTable, &card, "0 1 0 1");
    apply(&card, &records, &table).unwrap();
    let back = undo(&card, &records, "eth0").unwrap().unwrap();
    assert!(
        back.iter().all(|made| made.outcome == Outcome::Done),
        "{back:?}"
    );
    let queue = |values: &BTreeMap<Setting, String>| values[&Setting::Queues].clone();
    assert_eq!(queue(&card.values()), queue(&before));
}

#[test]
fn a_refusal_has_the_reason_and_leaves_no_record() {
    let (card, (_directory, records)) = (Card::new(), records());
    card.refuses.borrow_mut().push(Setting::Rings);
    let rings = change(Setting::Rings, &card, "rx 1024 tx 1024");
    let made = apply(&card, &records, &rings).unwrap();
    assert_eq!(
        made.outcome,
        Outcome::Refused("the card is asleep".to_owned())
    );
    assert_eq!(undo(&card, &records, "eth0").unwrap(), None);
}

#[test]
fn a_value_that_the_device_rounds_is_said_and_put_back() {
    let (card, (_directory, records)) = (Card::new(), records());
    let before = card.values();
    let rings = change(Setting::Rings, &card, "rx 1000 tx 1000");
    let made = apply(&card, &records, &rings).unwrap();
    let reason = "the device took rx 1024 tx 1024 instead";
    assert_eq!(made.outcome, Outcome::Refused(reason.to_owned()));
    undo(&card, &records, "eth0").unwrap().unwrap();
    assert_eq!(card.values(), before);
}

#[test]
fn what_is_refused_on_the_way_back_stays_in_the_record() {
    let (card, (_directory, records)) = (Card::new(), records());
    let before = card.values();
    for (setting, to) in [
        (Setting::Rings, "rx 1024 tx 1024"),
        (Setting::InterruptCores(24), "0"),
    ] {
        apply(&card, &records, &change(setting, &card, to)).unwrap();
    }
    card.refuses.borrow_mut().push(Setting::Rings);
    let back = undo(&card, &records, "eth0").unwrap().unwrap();
    let refused = |made: &&tune::Made| matches!(made.outcome, Outcome::Refused(_));
    let refused: Vec<Setting> = back
        .iter()
        .filter(refused)
        .map(|made| made.setting)
        .collect();
    assert_eq!(refused, [Setting::Rings]);
    card.refuses.borrow_mut().clear();
    undo(&card, &records, "eth0").unwrap().unwrap();
    assert_eq!(card.values(), before);
    assert_eq!(undo(&card, &records, "eth0").unwrap(), None);
}
