//! `corelane run`: the router. Follows the kernel's routes, forwards between the ports, answers
//! `corelane show`.

use std::path::PathBuf;
use std::process::ExitCode;

use fastpath::attach::Request;
use fastpath::forward::Lookup;
use port::xsk::Copying;
use router::engine::af_packet::{AfPacket, PacketSockets};
use router::engine::af_xdp::{AfXdp, XskSockets};
use router::engine::xdp::Xdp;
use router::engine::{Engine, EngineError};
use router::instance::{Instance, Signals};
use router::log::{self, Level};
use router::management_plane::config::{self, Config, EngineKind, Require};
use router::privileges;

use crate::common::Outcome;

/// Forward between ports by the kernel's own routes
///
/// Takes over the forwarding between the named interfaces and changes nothing else: addresses,
/// neighbours, routes and local traffic stay the kernel's. Prints one line with `ready` when it
/// forwards. On SIGINT, SIGTERM or a crash the kernel forwards again; SIGHUP reads the file again.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Configuration file (TOML; keys in docs/router.md); options given here win over it
    file: Option<PathBuf>,
    /// What moves the frames: xdp, xdp-kernel-fib, af-xdp, af-packet
    #[arg(long, value_name = "ENGINE")]
    engine: Option<String>,
    /// Forward between these interfaces; once for each
    #[arg(long = "port", value_name = "INTERFACE")]
    ports: Vec<String>,
    /// How the engine must be attached: any, native, generic, zero-copy
    #[arg(long, value_name = "MODE")]
    require: Option<String>,
    /// Forward even where the kernel has rules for forwarded packets, which are then gone past
    #[arg(long)]
    bypass_netfilter: bool,
    /// Name of this router among those of the machine [default: default]
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
    /// Where its socket is [default: /run/corelane]
    #[arg(long, value_name = "DIRECTORY")]
    run_directory: Option<PathBuf>,
    /// Address on loopback that serves the metrics; empty for none [default: 127.0.0.1:9470]
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<String>,
    /// How long routes are used when this process has fallen silent, then the kernel forwards; 0:
    /// for ever [default: 2000]
    #[arg(long, value_name = "N")]
    stale_milliseconds: Option<u32>,
    /// Workers do the driver's receiving themselves, on their cores (engine af-xdp)
    #[arg(long)]
    busy_poll: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let config = configuration(arguments)?;
    let signals = Signals::register()?;
    let sockets = matches!(config.engine, EngineKind::AfXdp | EngineKind::AfPacket);
    // First, since engines start threads, and rights belong to threads.
    privileges::reduce(sockets)?;
    let engine = open(&config)?;
    let ports = config.ports.clone();
    let mut instance = Instance::start(config, arguments.file.clone(), engine)?;
    println!("{}", instance.ready_line());
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
    instance.run(&signals)?;
    Ok(ExitCode::SUCCESS)
}

fn takes_redirects(port: &str) -> bool {
    let index = fastpath::attach::index_of(port).ok();
    index.is_none_or(|index| fastpath::features::accepts_redirect(index).unwrap_or(true))
}

fn configuration(arguments: &Arguments) -> Result<Config, String> {
    let mut config = match &arguments.file {
        Some(file) => Config::read(file).map_err(|error| error.to_string())?,
        None => Config::default(),
    };
    if let Some(name) = &arguments.engine {
        let wrong = || format!("--engine {name}: allowed are {}", EngineKind::NAMES);
        config.engine = EngineKind::named(name).ok_or_else(wrong)?;
    }
    if let Some(name) = &arguments.require {
        let wrong = || format!("--require {name}: allowed are {}", Require::NAMES);
        config.require = Require::named(name).ok_or_else(wrong)?;
    }
    if !arguments.ports.is_empty() {
        config.ports.clone_from(&arguments.ports);
    }
    config::check_ports(&config.ports)?;
    config.bypass_netfilter |= arguments.bypass_netfilter;
    if let Some(name) = &arguments.instance {
        config::check_instance(name)?;
        config.instance.clone_from(name);
    }
    if let Some(directory) = &arguments.run_directory {
        config.run_directory.clone_from(directory);
    }
    if let Some(address) = &arguments.metrics {
        config.metrics = config::parse_metrics(address)?;
    }
    if let Some(milliseconds) = arguments.stale_milliseconds {
        config.stale = config::parse_stale(milliseconds)?;
    }
    config.busy_poll |= arguments.busy_poll;
    config::check_busy_poll(&config)?;
    Ok(config)
}

fn open(config: &Config) -> Result<Box<dyn Engine>, EngineError> {
    let program = match config.require {
        Require::Any => Request::Any,
        Require::Native | Require::ZeroCopy => Request::Native,
        Require::Generic => Request::Generic,
    };
    let zero_copy = config.require == Require::ZeroCopy;
    let refuse = |what: &str, why: &str| Err(EngineError::new(format!("require {what}"), why));
    if zero_copy && config.engine != EngineKind::AfXdp {
        let why = "only engine af-xdp has memory that a driver could work on; allowed here are \
                   any, native, generic";
        return refuse("zero-copy", why);
    }
    let lookup = match config.engine {
        EngineKind::AfXdp => {
            let copying = if zero_copy {
                Copying::Never
            } else {
                Copying::Any
            };
            let sockets = XskSockets::new(program, copying, config.busy_poll);
            return Ok(Box::new(AfXdp::open(&config.ports, sockets)?));
        }
        EngineKind::AfPacket if config.require != Require::Any => {
            return refuse(
                "native or generic",
                "engine af-packet has no XDP program; allowed here is any",
            );
        }
        EngineKind::AfPacket => {
            return Ok(Box::new(AfPacket::open(&config.ports, PacketSockets)?));
        }
        EngineKind::Xdp => Lookup::Own,
        EngineKind::XdpKernelFib => Lookup::Kernel,
    };
    Ok(Box::new(Xdp::open(lookup, &config.ports, program)?))
}
