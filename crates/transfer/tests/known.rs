//! What is measured is what the link gives: a token bucket's rate, nothing behind a cut, every
//! datagram where nothing takes them away.

use std::thread;
use std::time::Duration;

use host::CoreId;
use transfer::{Carried, Error, Load, Offloads, Site, Transfer, carry};

/// What the token bucket lets through, bits a second of frames without FCS.
const RATE: f64 = 100e6;
/// Of the payload of a TCP segment, with timestamps, and of its frame.
const SEGMENT_PAYLOAD: f64 = 1448.0;
const SEGMENT_FRAME: f64 = 1514.0;
const WARM_UP: Duration = Duration::from_millis(150);
const LENGTH: Duration = Duration::from_millis(300);

fn tcp(flows: usize) -> Transfer {
    let load = Load::Tcp;
    Transfer { load, flows }
}

fn site(name: &str, offloads: Offloads) -> Option<Site> {
    needs::root("for network namespaces").then(|| Site::lay(name, 1500, offloads).unwrap())
}

fn take(site: &Site, transfer: Transfer) -> Result<Carried, Error> {
    carry(site, &cores(), transfer, WARM_UP, LENGTH)
}

fn cores() -> Vec<CoreId> {
    host::allowed_cores().unwrap()
}

/// Has the router's way out let through so many bits a second, with a queue of `milliseconds`.
fn shape(site: &Site, milliseconds: u32) {
    let queue = format!("burst 64kb latency {milliseconds}ms");
    let words = format!("qdisc add dev out root tbf rate {RATE} {queue}");
    let status = site.router().command("tc").args(words.split(' ')).status();
    assert!(status.unwrap().success());
}

#[test]
fn a_shaped_link_is_measured_at_its_rate() {
    let Some(site) = site("shaped", Offloads::On) else {
        return;
    };
    shape(&site, 40);
    let _cores = needs::cores();
    let payload = RATE * SEGMENT_PAYLOAD / SEGMENT_FRAME;
    // Who receives has all that came before it got a core: one look may be high or low.
    let mut looks = [(); 3].map(|()| take(&site, tcp(2)).unwrap());
    looks.sort_by(|a, b| f64::total_cmp(&a.payload_bits_per_second, &b.payload_bits_per_second));
    let [_, carried, _] = looks;
    let share = carried.payload_bits_per_second / payload;
    assert!((0.93..1.05).contains(&share), "{share} of the link's rate");
    assert_eq!(carried.layer_2_bits_per_second, None);
    assert!(carried.cpu_seconds_per_gigabit.is_some());
    assert_eq!(carried.silent_flows, 0);
}

#[test]
fn what_a_short_queue_drops_is_sent_again_and_counted() {
    let Some(site) = site("dropped", Offloads::On) else {
        return;
    };
    shape(&site, 1);
    let carried = take(&site, tcp(4)).unwrap();
    assert!(carried.repeated_segments > 0, "{carried:?}");
}

#[test]
fn a_cut_transfer_says_so() {
    let mix = Transfer {
        load: Load::Mix(&[64, 1518]),
        flows: 1,
    };
    for transfer in [tcp(2), mix] {
        let Some(site) = site("cut", Offloads::Off) else {
            return;
        };
        let carried = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(WARM_UP / 2);
                site.router().ip("link set out down").unwrap();
            });
            take(&site, transfer).unwrap()
        });
        assert_eq!(carried.silent_flows, transfer.flows, "{carried:?}");
        assert_eq!(carried.lost > 0.0, transfer == mix, "{carried:?}");
    }
}

#[test]
fn datagrams_arrive_in_segments_and_in_sizes() {
    let Some(site) = site("datagrams", Offloads::On) else {
        return;
    };
    let _cores = needs::cores();
    for load in [Load::Segments, Load::Mix(&[64, 570, 1518])] {
        let carried = take(&site, Transfer { load, flows: 2 }).unwrap();
        let layer_2 = carried.layer_2_bits_per_second.unwrap();
        assert!(layer_2 > carried.payload_bits_per_second, "{carried:?}");
        assert!(carried.lost < 0.01, "{carried:?}");
        assert_eq!((carried.silent_flows, carried.repeated_segments), (0, 0));
    }
}

#[test]
fn a_host_that_does_not_answer_is_an_error() {
    let Some(site) = site("deaf", Offloads::On) else {
        return;
    };
    site.router()
        .ip("route add prohibit 198.19.0.2/32")
        .unwrap();
    let error = take(&site, tcp(1)).unwrap_err().to_string();
    assert!(error.starts_with("flow 1: cannot connect"), "{error}");
}
