//! How many frames a second one core generates and checks over memory: `cargo run --release -p
//! tester --example wire`.

use tester::engine::Engine;
use tester::link::wire::Wire;
use tester::rig::Rig;
use tester::schedule::Schedule;
use tester::sizes::{Family, FrameSize};
use tester::trial::{Direction, Order, Waits};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut engine = Engine::new(Wire::new(2), Vec::new(), 1518, 1e9, 1)?;
    for bytes in [64, 512, 1518] {
        let order = Order {
            sizes: vec![FrameSize::new(bytes, Family::Ipv4, 1500)?],
            family: Family::Ipv4,
            schedule: Schedule::burst(20_000_000),
            direction: Direction::OneWay,
            destinations: 256,
            traffic: tester::traffic::Traffic::default(),
            time_every_frame: true,
            waits: Waits::QUICK,
        };
        let trial = engine.run(&order, "speed", None)?;
        println!(
            "{bytes:>5} bytes: {:.2} M frames/s, {} lost, {} samples",
            trial.offered_rate / 1e6,
            trial.counts.lost,
            trial.latency.map_or(0, |latency| latency.samples)
        );
    }
    Ok(())
}
