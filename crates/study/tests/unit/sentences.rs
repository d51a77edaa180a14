//! Of `study/src/sentences.rs`.

use super::*;
use crate::lock_price::LockPrice;
use crate::speed_up::SpeedUp;
use crate::testing::{search_kernel, study};
use figures::Weak;

#[test]
fn the_lock_is_named_with_its_cost() {
    let text = locked(&study());
    assert!(
        text.starts_with(
            "Memory ports: the lock costs 85 % of the frames. Behind it both cores forward \
             9.00 M frames/s of 64 bytes, without it 59.4 M frames/s. More cores forward less: \
             0.40× one core's frames."
        ),
        "{text}"
    );
}

#[test]
fn the_evidence_says_what_the_second_core_brings() {
    let lines = evidence(&study());
    assert_eq!(
        lines[0],
        "Memory ports, 64-byte frames, 901,899 routes: the second core makes it 1.98× with the \
         shipped table. With a table per core: 1.97×. With one shared table: 1.95×. With one \
         table behind a lock: 0.40×."
    );
    assert_eq!(
        lines[1],
        "How engines compare with the kernel cannot be told here."
    );
}

#[test]
fn a_speed_up_has_the_interval_of_its_rounds() {
    let mut study = study();
    study.speed_ups.push(SpeedUp {
        key: study
            .smallest("memory", Table::Shipped, 2)
            .unwrap()
            .key
            .clone(),
        rounds: 11,
        times: 1.97,
        low: 1.954,
        high: 2.009,
        weak: None,
    });
    assert!(evidence(&study)[0].contains(
        "the second core makes it 1.97× (1.95 to 2.01) with the shipped table. With a table per \
         core: 1.97×."
    ));
    assert!(unlocked(&study).contains("1.97× (1.95 to 2.01) with the shipped table"));
    // The lowest and the highest of four rounds are none.
    study.speed_ups.last_mut().unwrap().rounds = 4;
    assert!(evidence(&study)[0].contains("makes it 1.97× with the shipped table"));
}

#[test]
fn rates_without_loss_are_told_and_so_is_why_there_is_none() {
    let mut study = study();
    search_kernel(&mut study);
    assert_eq!(
        no_loss(&study),
        "RFC 2544's search found a rate without loss in 1 of 2 cases. That was 90 to 90 % of what \
         the closed loop gives, 90 % in the middle. None in 1: the device forwards nothing."
    );
}

#[test]
fn route_changes_that_were_not_made_are_not_hidden() {
    let mut study = study();
    assert!(
        changes(&study)
            .contains(" Memory ports with a table per core: 97.0 % (96.0 to 98.0 by round).")
    );
    assert!(!changes(&study).contains("only"));
    let last = study
        .route_changes
        .iter_mut()
        .rfind(|cost| cost.table == Table::Locked);
    last.unwrap().made = 61_234.5;
    assert!(changes(&study).contains("only 61,234 of the 100,000 changes a second asked for"));
}

#[test]
fn one_core_makes_no_claim_about_a_second() {
    let mut study = study();
    study.forwarding.retain(|row| row.key.workers == 1);
    study.cores = 1;
    assert!(unlocked(&study).contains("says nothing about a second"));
    assert!(locked(&study).contains("the lock costs a single core 25 %"));
    assert!(evidence(&study)[0].contains("says nothing about a second"));
}

#[test]
fn a_noisy_machine_is_called_so() {
    let mut study = study();
    study.noise.steal = 0.05;
    let noise = noise(&study).unwrap();
    assert!(noise.starts_with("Noisy: the hypervisor gave 5.00 %"));
}

#[test]
fn lists_read_well() {
    let words = |words: &[&str]| list(&words.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(words(&["a"]), "a");
    assert_eq!(words(&["a", "b", "c"]), "a, b and c");
}

/// One address at a time without a lock is what the lock is held against, not bursts.
#[test]
fn the_lock_does_not_bear_the_price_of_giving_up_bursts() {
    let mut study = study();
    let locked_row = study.smallest("memory", Table::Locked, 2).unwrap().clone();
    let mut base = locked_row.clone();
    base.key.table = BASE;
    base.frames_per_second = FramesPerSecond(18e6);
    study.forwarding.push(base);
    study.lock_prices.push(LockPrice {
        key: locked_row.key,
        rounds: 11,
        share: 0.52,
        low: 0.5,
        high: 0.53,
        weak: None,
    });
    assert!(locked(&study).contains(
        "the lock costs 48 % of the frames. Behind it both cores forward 9.00 M frames/s of 64 \
         bytes, without it 18.0 M frames/s"
    ));
    assert_eq!(
        lock_price(&study),
        "Of the frames that both cores forward with one address at a time and no lock: one \
         address at a time, one table and lock 52 % (50 to 53)."
    );
    (study.lock_prices[0].share, study.lock_prices[0].high) = (1.08, 1.3);
    assert!(locked(&study).starts_with("Memory ports: what the lock costs cannot be told here."));
    assert_eq!(
        lock_price(&study),
        "–: the rounds differ by more than the lock costs."
    );
    let table = crate::tables::lock_price(&study);
    assert!(table.is_none_or(|table| !table.to_text().contains("108")));
}

/// What others disturbed is "–" wherever it would stand, and one footnote counts why.
#[test]
fn figures_without_evidence_are_counted_once_and_said_nowhere() {
    let mut study = study();
    assert_eq!(footnote(&study), None);
    let kernel = |row: &&mut Row| row.key.engine == "kernel" && row.key.frame_bytes == 64;
    for row in study.forwarding.iter_mut().filter(kernel) {
        row.weak = Some(Weak::Disturbed);
    }
    for cost in &mut study.route_changes {
        cost.weak = Some(Weak::Scattered);
    }
    assert_eq!(
        footnote(&study).unwrap(),
        "–: no evidence for 14 of 104 figures: 2 because others had the cores in most rounds, and \
         these differ or are only two; 12 because the rounds differ too much."
    );
    assert!(!one_core(&study).contains("Linux kernel"));
    assert_eq!(
        changes(&study),
        "What route changes cost cannot be told here."
    );
    let row = study.smallest("kernel", Table::Kernel, 2).unwrap();
    assert_eq!(study.speed_up(row), None);
    let tables = crate::page::summary(&study);
    let text = report::terminal::render(&tables);
    assert!(
        !text.contains("97.0 %") && text.contains("–: no evidence for 14"),
        "{text}"
    );
    let answer = report::terminal::render(&crate::answer::answer(&study));
    let line = answer
        .lines()
        .find(|line| line.starts_with("The Linux kernel"));
    let cells: Vec<&str> = line.unwrap().split_whitespace().collect();
    assert_eq!(cells, ["The", "Linux", "kernel", "–", "–", "–", "–"]);
}

/// By intervals: what holds 1 is no difference, and what has no evidence is not ranked.
#[test]
fn engines_are_ranked_by_what_the_rounds_tell() {
    let mut study = study();
    for engine in ["xdp", "tc", "af-packet"] {
        let mut row = study.smallest("kernel", Table::Kernel, 2).unwrap().clone();
        row.key.engine = engine.to_owned();
        study.forwarding.push(row);
    }
    let mut add = |engine, without_loss, times| {
        let one = crate::testing::against_kernel(engine, without_loss, times);
        study.against_kernel.push(one);
    };
    add("kernel", false, [1.0, 1.0, 1.0]);
    add("tc", false, [0.94, 1.02, 1.1]);
    add("xdp", false, [3.6, 3.7, 3.8]);
    add("kernel", true, [1.0, 1.0, 1.0]);
    add("xdp", true, [2.6, 2.7, 2.8]);
    let said = |study: &Study| between_engines(study).unwrap();
    assert_eq!(
        said(&study),
        "Between Linux interfaces the kernel forwards 1.40 M frames/s in a closed loop. XDP with \
         our table: 5.18 M frames/s (3.70×, 3.60 to 3.80). Tc with our table: 1.43 M frames/s \
         (1.02×, 0.94 to 1.10: no difference). Not told here, for want of rounds that agree: \
         packet sockets (af-packet)."
    );
    for engine in ["tc", "af-packet"] {
        let one = crate::testing::against_kernel(engine, true, [1.1, 1.2, 1.3]);
        study.against_kernel.push(one);
    }
    assert!(said(&study).contains("without loss. XDP with our table: 3.78 M frames/s (2.70×"));
    study.against_kernel[0].rounds = 3;
    study.against_kernel[3].rounds = 3;
    assert!(said(&study).starts_with("How engines compare"));
}
