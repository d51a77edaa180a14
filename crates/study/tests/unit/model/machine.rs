use super::*;

/// This machine with a buffer of a few megabytes: figures that make sense, whatever they are.
#[test]
fn this_machine_has_finite_figures_in_order() {
    if !needs::two_cores() {
        return;
    }
    let _alone = needs::cores();
    let cores = host::cores::allowed_cores().unwrap();
    let caches = Caches {
        last: 4 << 20,
        second: 1 << 20,
    };
    let probe = Probe::new(caches);
    let site = Site {
        cores: &cores[..2],
        caches,
        probe: &probe,
        table: 1 << 20,
    };
    match Machine::measure(&site, Duration::from_secs(2), 1) {
        Ok(machine) => {
            assert!(machine.is_finite(), "{machine:?}");
            assert_eq!((machine.cores, machine.buffer), (2, 16 << 20));
            assert_eq!(machine.table, 1 << 20);
            let crowded = machine.crowded();
            assert!(crowded.is_finite() && crowded > 0.0, "{crowded}");
        }
        Err(busy) => assert!(busy.to_string().contains("try again"), "{busy}"),
    }
}

#[test]
fn the_core_that_works_alone_changes_from_round_to_round() {
    let cores = [0, 1, 2].map(CoreId);
    let caches = Caches {
        last: 1 << 16,
        second: 1 << 16,
    };
    let site = Site {
        cores: &cores,
        caches,
        probe: &Probe::new(caches),
        table: 1 << 16,
    };
    let ones: Vec<u32> = (0..4).map(|round| site.split(round).0.0).collect();
    assert_eq!(ones, [0, 1, 2, 0]);
    assert_eq!(site.split(1).1, [CoreId(0), CoreId(2)]);
}

#[test]
fn a_machine_without_a_figure_is_none() {
    let mut machine = crate::model::tests::machine();
    assert!(machine.is_finite());
    machine.table_load.value = f64::INFINITY;
    assert!(!machine.is_finite());
}
