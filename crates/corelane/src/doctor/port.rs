//! What an interface can do as a port, found out by trying.

use std::fs;
use std::path::Path;

use bpf::attach::{self, Mode, Request};
use fastpath::forward::{Capacity, Forwarder, Lookup, Place, Suits};
use port::xsk::{Copying, Memory, Options, XskPort};
use port::{Pool, PortError};
use router::control_plane::model::unfit;

use super::{Finding, read};

/// The largest MTU at which a frame fits a page with what XDP needs around it (`PAGE_SIZE`,
/// headroom and tail of `struct skb_shared_info`): beyond, a driver must take programs for frames
/// in several buffers.
const ONE_BUFFER: u32 = 3498;

/// Room for nothing but a try.
const LITTLE: Capacity = Capacity {
    main_v4: 4096,
    main_v6: 4096,
    more_tables: 0,
    more_words: 0,
    slots: 1 << 16,
    buckets: 64,
    vlans: 1,
};

/// Everything about one interface of this network namespace.
///
/// # Errors
/// When there is no such interface.
pub(super) fn look(name: &str) -> fastpath::Result<Vec<Finding>> {
    let ifindex = attach::index_of(name)?;
    Ok(vec![
        link(name),
        place(name, ifindex),
        native(name),
        redirect(name, ifindex),
        zero_copy(name),
        queues(name),
        offloads(name),
        tags(name, ifindex),
        mtu(name),
    ])
}

/// The driver of an interface that has a device.
pub(super) fn driver(name: &str) -> Option<String> {
    let link = fs::read_link(format!("/sys/class/net/{name}/device/driver")).ok()?;
    Some(link.file_name()?.to_string_lossy().into_owned())
}

fn link(name: &str) -> Finding {
    let what = format!("{name}: link");
    let driver = driver(name).unwrap_or_else(|| "a virtual device".to_owned());
    let state = read(&format!("/sys/class/net/{name}/operstate")).unwrap_or_default();
    let found = format!("{driver}, {state}");
    if state == "up" || state == "unknown" {
        Finding::good(what, found)
    } else {
        Finding::limited(what, found, format!("ip link set {name} up"))
    }
}

/// Where engine auto has the program, found out by trying, and why.
fn place(name: &str, ifindex: u32) -> Finding {
    let what = format!("{name}: engine auto");
    let hardware = read(&format!("/sys/class/net/{name}/type"));
    let hardware = hardware.and_then(|number| number.parse().ok());
    if let Some(why) = hardware.and_then(unfit) {
        let remedy = "no engine forwards here; name other ports";
        return Finding::missing(what, format!("the kernel: {why}"), remedy);
    }
    let attach = || -> fastpath::Result<_> {
        let mut forwarder = Forwarder::new(Lookup::Own, LITTLE)?;
        let mode = forwarder.attach(name, Place::Suiting(None))?.mode();
        Ok((mode, forwarder.device(ifindex).map(|device| device.suits)))
    };
    let (mode, suits) = match attach() {
        Ok(attached) => attached,
        Err(error) => return Finding::limited(what, "not tried", error.to_string()),
    };
    match (mode, suits) {
        (Mode::Tc, Some(Suits::Software)) => Finding::good(
            what,
            "tc: a software device, whose senders hand over whole segments",
        ),
        (Mode::Tc, Some(Suits::Host)) => Finding::good(
            what,
            format!("tc: the host hands over whole segments (ethtool -K {name} rx off: XDP)"),
        ),
        (Mode::Tc, _) => Finding::limited(
            what,
            "tc: the driver runs no XDP programs",
            "a card whose driver does forwards small frames several times as fast",
        ),
        (_, Some(Suits::Native)) => Finding::good(what, "XDP: the driver runs the program"),
        (mode, _) => Finding::limited(
            what,
            format!("XDP ({mode}): the kernel takes no program at tc, where segments pass whole"),
            "Linux 6.6, or one with CONFIG_NET_CLS_BPF; or a block that interfaces share is in the \
             way (tc qdisc show)",
        ),
    }
}

/// Attaches the forwarding program natively and takes it off again; until told about the port it
/// passes every frame on.
fn native(name: &str) -> Finding {
    let what = format!("{name}: native XDP");
    let attach = |request| {
        let mut forwarder = Forwarder::new(Lookup::Kernel, Capacity::default())?;
        forwarder.attach(name, request).map(|_| ())
    };
    match attach(Request::Native) {
        Ok(()) => Finding::good(what, "the driver runs the program itself"),
        Err(error @ fastpath::Error::Bpf(bpf::Error::NotNative { .. })) => {
            match attach(Request::Generic) {
                Ok(()) => Finding::limited(
                    what,
                    "no: generic only, at a fraction of the speed",
                    error.to_string(),
                ),
                Err(generic) => {
                    Finding::missing(what, "neither native nor generic", generic.to_string())
                }
            }
        }
        Err(error) => Finding::missing(what, "not tried", error.to_string()),
    }
}

fn redirect(name: &str, ifindex: u32) -> Finding {
    let what = format!("{name}: takes redirected frames");
    match bpf::features::accepts_redirect(ifindex) {
        Ok(true) => Finding::good(what, "yes"),
        Ok(false) => Finding::limited(
            what,
            "no: frames for it go through the kernel",
            "on a veth: ethtool -K PEER gro on, or an XDP program on its peer",
        ),
        Err(error) => Finding::limited(what, "not known", error.to_string()),
    }
}

fn zero_copy(name: &str) -> Finding {
    let what = format!("{name}: AF_XDP");
    let open = || {
        let options = Options {
            copying: Copying::Any,
            ring: 64,
            ..Options::default()
        };
        let mut pool = Pool::new(options.layout(1))?;
        let mut memory = Memory::default();
        let port = XskPort::open(name, 0, &mut pool, &mut memory, options)?;
        Ok::<bool, PortError>(port.is_zero_copy())
    };
    match open() {
        Ok(true) => Finding::good(what, "zero copy on queue 0"),
        Ok(false) => Finding::limited(
            what,
            "the kernel copies",
            "the engine xdp does not need it; zero copy is a matter of the driver",
        ),
        Err(error) => Finding::limited(what, error.to_string(), "the engine xdp does not need it"),
    }
}

fn queues(name: &str) -> Finding {
    let what = format!("{name}: queues");
    let (receive, send) = (count(name, "rx-"), count(name, "tx-"));
    let cores = host::allowed_cores().map_or(1, |cores| cores.len());
    let state = format!("{receive} receive, {send} send, for {cores} cores");
    if receive >= cores {
        return Finding::good(what, state);
    }
    let remedy = if driver(name).is_some() {
        format!("ethtool -L {name} combined {cores}; a queue's frames are forwarded by one core")
    } else {
        "a virtual device has as many queues as it was made with; its sender's core forwards".into()
    };
    Finding::limited(what, state, remedy)
}

fn count(name: &str, kind: &str) -> usize {
    let entries = fs::read_dir(Path::new("/sys/class/net").join(name).join("queues"));
    let entries = entries.into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(kind))
        .count()
}

fn offloads(name: &str) -> Finding {
    let what = format!("{name}: offloads");
    match host::offload::receiving(name) {
        Err(error) => Finding::limited(
            what,
            format!("not known: {error}"),
            format!("ethtool -k {name}"),
        ),
        Ok(on) if on.joins_segments => Finding::missing(
            what,
            "joins segments into frames too large to forward (LRO)",
            format!("ethtool -K {name} lro off"),
        ),
        Ok(_) => Finding::good(what, "none in the way"),
    }
}

/// Asks the forwarding program, attached as `corelane run` would.
fn tags(name: &str, ifindex: u32) -> Finding {
    let what = format!("{name}: VLAN tags");
    let hidden = || -> fastpath::Result<bool> {
        let mut forwarder = Forwarder::new(Lookup::Kernel, Capacity::default())?;
        forwarder.attach(name, Request::Any)?;
        Ok(forwarder.hides_tags(ifindex))
    };
    match hidden() {
        Ok(false) => Finding::good(what, "seen, in frames or beside them"),
        Ok(true) => Finding::missing(
            what,
            "may be gone before the program sees a frame, so the port is left to the kernel",
            format!(
                "ethtool -K {name} rxvlan off; on a veth, where only the peer decides: ethtool -K \
                 PEER txvlan off, and --bypass-vlan-offload"
            ),
        ),
        Err(error) => Finding::limited(what, "not tried", error.to_string()),
    }
}

fn mtu(name: &str) -> Finding {
    let what = format!("{name}: MTU");
    let mtu: u32 = read(&format!("/sys/class/net/{name}/mtu"))
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    if mtu <= ONE_BUFFER {
        return Finding::good(what, format!("{mtu}: a frame fits one buffer"));
    }
    let state = format!("{mtu}: frames take several buffers");
    let remedy = format!("where native XDP is refused: ip link set {name} mtu {ONE_BUFFER}");
    Finding::limited(what, state, remedy)
}
