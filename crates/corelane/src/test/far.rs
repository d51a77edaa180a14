//! Two machines: the line to the other, and what runs there.

use std::io;
use std::process::ExitCode;

use clap::ValueEnum;
use host::CoreId;
use tester::engine::{self, Course, Far, Macs, Open};
use tester::rig::{Rig, RigError};
use tester::veth::End;

use super::options::{Generator, Options};
use super::plan::Plan;
use super::rigs::Maker;
use crate::common::Outcome;

/// A rig that sends from `here` and receives on the far machine.
///
/// # Errors
/// The far machine cannot be reached, or one of the ports not be opened.
pub(super) fn rig(
    maker: &Maker,
    plan: &Plan,
    options: &Options,
    host: &str,
    here: &End,
) -> Result<Box<dyn Rig>, RigError> {
    let words = options.ssh.split_whitespace().map(str::to_owned);
    let program = [host, &options.far_program, "test", "agent"].map(str::to_owned);
    let shell: Vec<String> = words.chain(program).collect();
    let generator = plan.generator.to_possible_value();
    let there = Open {
        interface: options.ports[1].clone(),
        generator: generator.map_or_else(String::new, |value| value.get_name().to_owned()),
        largest: plan.largest(),
        seed: options.output.seed,
    };
    let far = Far::reach(&shell, &there)?;
    let what = format!("a device, to {} on {host}", there.interface);
    let course = if options.round_trip {
        Course::RoundTrip
    } else {
        Course::OneWay
    };
    maker.remote(here, &what, far, course)
}

/// Serves the sender at the other end of the standard streams.
///
/// # Errors
/// The streams failed.
pub(super) fn agent() -> Outcome {
    host::cleanup::on_signal()?;
    engine::serve(io::BufReader::new(io::stdin()), io::stdout(), |port| {
        let unable = |what: String| RigError::Unable {
            rig: "the far machine",
            what,
            remedy: "use --generator packet or af-xdp",
        };
        let generator = Generator::from_str(&port.generator, false)
            .map_err(|_| unable(format!("use the generator {}", port.generator)))?;
        let macs = Macs {
            tester: super::external::hardware_address(&port.interface).unwrap_or_default(),
            ..Macs::default()
        };
        let end = End::here(&port.interface, macs)?;
        let cores = host::allowed_cores().unwrap_or_default();
        let maker = Maker {
            generator,
            core: cores.first().copied().unwrap_or(CoreId(0)),
            ports: 1,
            largest: port.largest,
            line_rate: None,
            seed: port.seed,
        };
        maker.sockets(&[end], "a device")
    })?;
    Ok(ExitCode::SUCCESS)
}
