//! Deployments are compared under one load: a plane that carries more is not loaded more when
//! delay, jitter and responses are taken.

use std::path::Path;

use agent::protocol::UserPlaneMode;
use host::Environment;
use planes::compare::compare;
use planes::deployment::Deployment;
use planes::guest;
use planes::plan::Plan;
use planes::result::{Cell, Plane};

const ATTEMPTS: u32 = 6;

#[test]
fn delay_is_taken_at_one_rate_in_every_deployment_and_mode() {
    if !needs::root("to make network namespaces") {
        return;
    }
    let Some(program) = guest::program() else {
        needs::skipped!("no static guest program; build it with \"make guest\"");
        return;
    };
    let _alone = needs::cores();
    let plan = Plan {
        deployments: vec![Deployment::SmpFree],
        modes: vec![UserPlaneMode::Kernel, UserPlaneMode::UserSpace],
        payloads: vec![64],
        ..Plan::whole(true, 1)
    };
    // Beside a neighbour of the machine not all frames leave in time: then once more.
    assert!((0..ATTEMPTS).any(|_| is_at_one_rate(&plan, &program)));
}

/// Measures once.
fn is_at_one_rate(plan: &Plan, program: &Path) -> bool {
    let found = compare(plan, program, Environment::read("test", 1), |_| ()).unwrap();
    let user = |cell: &&Cell| cell.plane == Plane::User && cell.is_udp();
    let cells: Vec<&Cell> = found.cells.iter().filter(user).collect();
    assert_eq!(cells.len(), 2 * 2, "two modes, alone and beside requests");
    for cell in cells {
        let rate = cell.delay_frames_per_second.unwrap();
        let share = rate / found.delay_frames_per_second;
        assert!(share < 1.05, "{rate}: {cell:?}");
        if share < 0.8 {
            println!("{rate}: {cell:?}");
            return false;
        }
    }
    let asked = |cell: &&Cell| cell.plane == Plane::Management && cell.other_plane_load;
    let asked: Vec<&Cell> = found.cells.iter().filter(asked).collect();
    assert!(
        asked.iter().all(|cell| cell.requests > Some(0)),
        "{asked:?}"
    );
    true
}
