//! From options to the stand with the device in it.

use dut::stand::external::Description;
use dut::stand::far::There;
use dut::stand::namespaces::Ground;
use dut::stand::rigs::Maker;
use dut::stand::{Stand, calibrated, external, filters, kernel, program};
use tester::addresses;
use tester::engine::Course;

use super::options::{Dut, Options};
use super::plan::Plan;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Sets the device up.
///
/// # Errors
/// Without root, or when the kernel, the interfaces or the router refuse.
pub(super) fn open(plan: &Plan, options: &Options) -> Result<Box<dyn Stand>, Error> {
    let maker = Maker {
        generator: plan.generator,
        ports: plan.ports,
        largest: plan.largest(),
        line_rate: options.line_rate,
        seed: options.output.seed,
    };
    let ground = Ground {
        mtu: plan.mtu,
        wide: options.destinations > addresses::NETWORKS && !options.ipv6,
        anywhere: plan.traffic.replay.is_some(),
    };
    match options.dut {
        Dut::Kernel => {
            let commands = |rules| filters::commands(rules, &plan.families(), plan.ports);
            kernel::open(maker, ground, options.filters.map(commands))
        }
        Dut::Corelane => program::open(maker, ground, &options.engine),
        Dut::External => external::open(maker, plan.mtu, description(options)),
        Dut::Calibrated => Ok(calibrated::open(maker, plan.calibrated.clone())),
    }
}

/// What the options say of an external device. Of two machines this one has only the first port.
fn description(options: &Options) -> Description<'_> {
    let (interfaces, there) = match (&options.far, &options.ports[..]) {
        (Some(host), [here, interface]) => {
            let words = options.ssh.split_whitespace();
            let agent = [host, &options.far_program, "test", "agent"];
            let there = There {
                host: host.clone(),
                shell: words.chain(agent).map(str::to_owned).collect(),
                interface: interface.clone(),
                course: if options.round_trip {
                    Course::RoundTrip
                } else {
                    Course::OneWay
                },
            };
            (std::slice::from_ref(here), Some(there))
        }
        (_, interfaces) => (interfaces, None),
    };
    Description {
        interfaces,
        macs: &options.device_macs,
        any_interface: options.i_know,
        there,
        counters: options.device_counters.as_deref(),
        complain: |words| eprintln!("corelane: {words}"),
    }
}
