//! The exact split of lost efficiency.

use proptest::prelude::*;
use scaling::cause::split::{Cost, split};

fn cost(cores: u32, wall: f64, user: f64, system: f64, steal: f64) -> Cost {
    Cost {
        cores,
        work: 1.0,
        wall,
        user,
        system,
        steal,
    }
}

#[test]
fn a_serial_half_is_all_idle() {
    let split = split(
        &cost(1, 10.0, 10.0, 0.0, 0.0),
        &cost(2, 7.5, 10.0, 0.0, 0.0),
    )
    .unwrap();
    assert!((split.efficiency() - 10.0 / 15.0).abs() < 1e-12);
    assert!((split.idle - split.total).abs() < 1e-12);
    assert_eq!((split.user, split.system, split.steal), (0.0, 0.0, 0.0));
}

#[test]
fn memory_stalls_are_all_user_inflation() {
    let split = split(&cost(1, 10.0, 9.0, 1.0, 0.0), &cost(2, 8.0, 15.0, 1.0, 0.0)).unwrap();
    assert!((split.user - split.total).abs() < 1e-12 && split.idle.abs() < 1e-12);
}

#[test]
fn user_and_system_that_cancel_are_both_shown() {
    let split = split(&cost(1, 10.0, 8.0, 2.0, 0.0), &cost(2, 5.0, 6.0, 4.0, 0.0)).unwrap();
    assert!(split.total.abs() < 1e-12);
    assert!((split.user - 0.2).abs() < 1e-12 && (split.system + 0.2).abs() < 1e-12);
}

#[test]
fn the_ninety_six_thread_kernel_build_kept_forty_three_cores_busy() {
    let busy = cost(96, 45.99, 45.99 * 43.07, 0.0, 0.0).busy();
    assert!((busy - 0.449).abs() < 0.0005, "{busy}");
}

#[test]
fn impossible_times_give_no_split() {
    let good = cost(1, 1.0, 1.0, 0.0, 0.0);
    assert_eq!(split(&good, &cost(2, 1.0, 0.0, 0.0, 0.0)), None);
    assert_eq!(split(&good, &cost(2, 1.0, 1.0, 0.0, 2.5)), None);
}

proptest! {
    #[test]
    fn the_parts_add_up_to_the_whole(
        wall in prop::array::uniform2(0.001_f64..1000.0),
        user in prop::array::uniform2(0.001_f64..1000.0),
        system in prop::array::uniform2(0.0_f64..1000.0),
        steal in prop::array::uniform2(0.0_f64..0.9),
        cores in 2_u32..256, work in 0.1_f64..100.0,
    ) {
        let one = cost(1, wall[0], user[0], system[0], steal[0] * wall[0]);
        let many = Cost {
            work,
            ..cost(
                cores,
                wall[1],
                user[1],
                system[1],
                steal[1] * wall[1] * f64::from(cores),
            )
        };
        let split = split(&one, &many).unwrap();
        let sum: f64 = split.parts().iter().map(|p| p.1).sum();
        prop_assert!((sum - split.total).abs() < 1e-9 * (1.0 + split.total.abs()));
    }
}
