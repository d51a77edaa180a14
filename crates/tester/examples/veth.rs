//! How many frames a second one core generates over veth, with a cable, or the kernel's forwarding,
//! at the other end (root): `cargo run --release -p tester --example veth`.

use tester::rig::Rig;
use tester::schedule::Schedule;
use tester::sizes::{Family, FrameSize};
use tester::trial::{Direction, Order, Waits};
use tester::veth::Testbed;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let testbed = Testbed::new(1500, true)?;
    println!("{}", testbed.cores());
    let mut order = Order {
        sizes: vec![FrameSize::new(64, Family::Ipv4, 1500)?],
        family: Family::Ipv4,
        schedule: Schedule::burst(2_000_000),
        direction: Direction::OneWay,
        destinations: 1,
        traffic: tester::traffic::Traffic::default(),
        time_every_frame: false,
        waits: Waits::QUICK,
    };
    let show = |rig: &mut dyn Rig, order: &Order| -> Result<(), Box<dyn std::error::Error>> {
        let trial = rig.run(order, "speed", None)?;
        let wanted = trial
            .intended_rate
            .map_or("as fast as it goes".to_owned(), |rate| {
                format!("{:.2} M", rate / 1e6)
            });
        println!(
            "{wanted:>20}: offered {:.3} M frames/s, received {:.3} M, lost {}, unsent {}, burst \
             {}, late {} us, {:?}",
            trial.offered_rate / 1e6,
            trial.forwarded_rate() / 1e6,
            trial.counts.lost,
            trial.counts.unsent,
            trial.largest_burst,
            trial.worst_lateness_ns / 1000,
            trial.validity,
        );
        Ok(())
    };
    for device in [false, true] {
        let mut rig = if device {
            testbed.rig("the kernel", 1)?
        } else {
            testbed.wire(1)?
        };
        println!("{}", rig.describe());
        order.schedule = Schedule::burst(2_000_000);
        show(&mut rig, &order)?;
        for rate in [5e6, 4e6, 3e6, 2e6, 1e6, 0.8e6, 0.6e6, 0.4e6, 0.1e6] {
            order.schedule = Schedule::constant(rate, 0.3);
            show(&mut rig, &order)?;
        }
    }
    Ok(())
}
