//! `corelane run`: the router. Follows the kernel's routes, forwards between the ports, answers
//! `corelane show`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use fastpath::forward::PuntLimits;
use router::engine::{self, Engine, EngineKind, Require};
use router::instance::{Instance, Signals};
use router::log::{self, Level};
use router::management_plane::config::{Config, InstanceName, Metrics, Stale};
use router::take_over::{Before, Kept, Taking};
use router::{privileges, system_calls};

use crate::common::Outcome;

/// Forward between ports by the kernel's own routes
///
/// Takes over the forwarding between the named interfaces and changes nothing else: addresses,
/// neighbours, routes and local traffic stay the kernel's. Prints one line with `ready` when it
/// forwards. On SIGINT, SIGTERM or a crash the kernel forwards again; SIGHUP reads the file again.
#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option")]
pub(crate) struct Arguments {
    /// Configuration file (TOML; keys in docs/router.md); options given here win over it
    file: Option<PathBuf>,
    /// What moves the frames [default: auto]
    #[arg(long, value_name = "ENGINE")]
    engine: Option<EngineKind>,
    /// Forward between these interfaces: separated by commas, or each with a --port of its own
    #[arg(long = "port", value_name = "INTERFACE,...", value_delimiter = ',')]
    ports: Vec<String>,
    /// How the engine must be attached [default: any]
    #[arg(long, value_name = "MODE")]
    require: Option<Require>,
    /// Forward where the kernel has nftables or iptables rules, which are then gone past
    #[arg(long)]
    bypass_netfilter: bool,
    /// Forward where the kernel has xfrm policies (for encryption), which are then gone past
    #[arg(long)]
    bypass_ipsec: bool,
    /// Forward where the kernel has policy rules (ip rule), which are then gone past
    #[arg(long)]
    bypass_policy_rules: bool,
    /// Forward where the kernel has queueing disciplines or filters (tc), which are then gone past
    #[arg(long)]
    bypass_tc: bool,
    /// Forward where a device takes VLAN tags out of frames unseen, as if none came with a tag
    #[arg(long)]
    bypass_vlan_offload: bool,
    /// Name of this router among those of the machine [default: default]
    #[arg(long, value_name = "NAME")]
    instance: Option<InstanceName>,
    /// Where its socket is [default: /run/corelane]
    #[arg(long, value_name = "DIRECTORY")]
    run_directory: Option<PathBuf>,
    /// Address that serves the metrics; beyond loopback with the key metrics-allow; empty for none
    /// [default: 127.0.0.1:9470]
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<Metrics>,
    /// How long routes are used when this process has fallen silent, then the kernel forwards; 0:
    /// for ever [default: 2000]
    #[arg(long, value_name = "N")]
    stale_milliseconds: Option<Stale>,
    /// How many punts of a class the kernel gets from a port in a second, such as
    /// "expired=100, local=50000"; "none": all [default: see docs/router.md]
    #[arg(long, value_name = "LIST")]
    punt_limits: Option<PuntLimits>,
    /// Take the ports of the running router of this name over, without a lost frame; it ends then.
    /// Engines xdp, xdp-kernel-fib, tc, auto and af-xdp
    #[arg(long, conflicts_with = "remove_left")]
    take_over: bool,
    /// Only remove what a killed router has left at tc of its ports, before Linux 6.6: filters that do
    /// nothing any more. A start does the same
    #[arg(long)]
    remove_left: bool,
    /// Workers do the driver's receiving themselves, on their cores (engine af-xdp)
    #[arg(long)]
    busy_poll: bool,
    /// Workers carry frames longer than 1792 bytes, too (engine af-xdp, Linux 6.6). The kernel forwards
    /// them faster where it copies all frames, as with veth
    #[arg(long)]
    long_frames: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let config = configuration(arguments)?;
    if arguments.remove_left {
        engine::remove_left(&config.ports);
        return Ok(ExitCode::SUCCESS);
    }
    let signals = Signals::register()?;
    // First, since whoever may reach the socket may have fewer rights afterwards.
    let mut before = if arguments.take_over {
        Before::Running(Taking::ask(&config)?)
    } else {
        Kept::receive(config.engine.name()).map_or(Before::Nobody, Before::Ended)
    };
    let sockets = config.engine.has_workers();
    // Then, since engines start threads, and rights belong to threads.
    privileges::reduce(sockets)?;
    if let Err(error) = system_calls::restrict() {
        let what = "every system call stays possible".to_owned();
        let pairs = [("what", what), ("error", error.to_string())];
        log::write(Level::Warning, "rights", &pairs);
    }
    let ports = config.ports.clone();
    let engine = open(&config, &mut before)?;
    let mut instance = Instance::start(config, arguments.file.clone(), engine, before)?;
    // Whoever wanted to read it may have gone.
    let _ = writeln!(std::io::stdout(), "{}", instance.ready_line());
    // Asked after ready: what it says is advice, not a condition.
    let slow = |port: &&String| !sockets && !takes_redirects(port);
    for port in ports.iter().filter(slow) {
        let what = "frames cannot be redirected to it, so they go through the kernel";
        let remedy = "on a veth: ethtool -K PEER gro on, or an XDP program on its peer";
        let pairs = [
            ("port", port.clone()),
            ("what", what.to_owned()),
            ("remedy", remedy.to_owned()),
        ];
        log::write(Level::Warning, "slow-port", &pairs);
    }
    instance.run(&signals);
    Ok(ExitCode::SUCCESS)
}

fn open(
    config: &Config,
    before: &mut Before,
) -> Result<Box<dyn Engine>, Box<dyn std::error::Error + Send + Sync>> {
    let (kind, require, capacity) = (config.engine, config.require, config.capacity());
    let sockets = config.sockets();
    let elsewhere = |ports: &[_]| engine::open_elsewhere(kind, ports, require, sockets, capacity);
    match before {
        Before::Running(taking) => return Ok(elsewhere(&taking.ports(&config.ports)?)?),
        Before::Ended(kept) => {
            let ports = kept.ports(&config.ports);
            if !ports.is_empty()
                && let Ok(engine) = elsewhere(&ports)
            {
                return Ok(engine);
            }
            // They end here, and these ports are attached anew: another mode may be required now.
            *before = Before::Nobody;
        }
        Before::Nobody => {}
    }
    Ok(engine::open(
        kind,
        &config.ports,
        require,
        sockets,
        capacity,
        false,
    )?)
}

fn takes_redirects(port: &str) -> bool {
    let index = bpf::attach::index_of(port).ok();
    index.is_none_or(|index| bpf::features::accepts_redirect(index).unwrap_or(true))
}

fn configuration(arguments: &Arguments) -> Result<Config, String> {
    let mut config = match &arguments.file {
        Some(file) => Config::read(file).map_err(|error| error.to_string())?,
        None => Config::default(),
    };
    config.engine = arguments.engine.unwrap_or(config.engine);
    config.require = arguments.require.unwrap_or(config.require);
    if !arguments.ports.is_empty() {
        config.ports.clone_from(&arguments.ports);
    }
    config.bypass_netfilter |= arguments.bypass_netfilter;
    config.bypass_ipsec |= arguments.bypass_ipsec;
    config.bypass_policy_rules |= arguments.bypass_policy_rules;
    config.bypass_tc |= arguments.bypass_tc;
    config.bypass_vlan_offload |= arguments.bypass_vlan_offload;
    if let Some(name) = &arguments.instance {
        config.instance.clone_from(name);
    }
    if let Some(directory) = &arguments.run_directory {
        config.run_directory.clone_from(directory);
    }
    config.metrics = arguments.metrics.unwrap_or(config.metrics);
    config.stale = arguments.stale_milliseconds.unwrap_or(config.stale);
    config.punt_limits = arguments.punt_limits.unwrap_or(config.punt_limits);
    config.busy_poll |= arguments.busy_poll;
    config.long_frames |= arguments.long_frames;
    config.check()?;
    Ok(config)
}
