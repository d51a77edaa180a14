//! Sums that a sender leaves to its card: whoever forwards in its place must finish them, wherever
//! they are in the packet.

use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

use host::Namespace;

use super::lab::{Lab, is_root, wait_for};

const ENGINES: [&str; 5] = ["xdp", "xdp-kernel-fib", "tc", "af-xdp", "af-packet"];
const DATAGRAMS: usize = 20;

/// Where a sends datagrams to at b; the last two are in tunnels at a port of their own, with a sum
/// and without.
const WAYS: [&str; 4] = ["10.1.0.2", "2001:db8:1::2", "10.97.0.2", "10.98.0.2"];

/// How long what must arrive may take, on a machine however busy.
const PATIENCE: Duration = Duration::from_secs(20);

fn bind(place: &Namespace, address: &str, port: u16) -> UdpSocket {
    let address: IpAddr = address.parse().unwrap();
    place
        .enter(|| UdpSocket::bind((address, port)).unwrap())
        .unwrap()
}

/// How many datagrams arrive, each way.
fn arrive(lab: &Lab) -> Vec<usize> {
    let way = |&address: &&str| {
        let to = bind(&lab.b, address, 4000);
        let any = if address.contains(':') {
            "::"
        } else {
            "0.0.0.0"
        };
        let from = bind(&lab.a, any, 0);
        for number in 0..DATAGRAMS {
            from.send_to(&[number as u8; 100], (address, 4000)).unwrap();
        }
        let come = |most: usize, longest| {
            to.set_read_timeout(Some(longest)).unwrap();
            let mut buffer = [0; 200];
            let datagrams = std::iter::from_fn(|| to.recv(&mut buffer).ok());
            datagrams.take(most).count()
        };
        // All, however late, and none twice.
        come(DATAGRAMS, PATIENCE) + come(usize::MAX, Duration::from_millis(100))
    };
    WAYS.iter().map(way).collect()
}

/// Does TCP behind destination options of IPv6 arrive?
fn segment_arrives(lab: &Lab) -> bool {
    let address = ("2001:db8:1::2", 4001);
    let listener = lab.b.enter(|| TcpListener::bind(address).unwrap()).unwrap();
    let from = lab.a.enter(|| TcpStream::connect(address).unwrap());
    let (mut from, (mut to, _)) = (from.unwrap(), listener.accept().unwrap());
    // A header of eight bytes, filled with PadN.
    let options = [0_u8, 0, 1, 4, 0, 0, 0, 0];
    // SAFETY: pointer and length are those of `options`.
    let result = unsafe {
        libc::setsockopt(
            from.as_raw_fd(),
            libc::IPPROTO_IPV6,
            libc::IPV6_DSTOPTS,
            options.as_ptr().cast(),
            options.len() as u32,
        )
    };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
    from.write_all(&[7; 500]).unwrap();
    to.set_read_timeout(Some(PATIENCE)).unwrap();
    to.read_exact(&mut [0; 500]).is_ok()
}

#[test]
fn unfinished_sums_are_finished_behind_options_and_inside_tunnels() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    for (place, device, here, there) in [(&lab.a, "e0", 0, 1), (&lab.b, "e1", 1, 0)] {
        for (id, sum) in [(97, "udpcsum"), (98, "noudpcsum")] {
            let ends = format!("local 10.{here}.0.2 remote 10.{there}.0.2 dev {device}");
            let tunnel = format!("id {id} dstport {} {sum} {ends}", 5000 + id);
            if place
                .ip(format!("link add t{id} type vxlan {tunnel}"))
                .is_err()
            {
                needs::skipped!("this kernel has no VXLAN");
                return;
            }
            let address = format!("addr add 10.{id}.0.{}/24 dev t{id}", here + 1);
            place.ip(address).unwrap();
            place.ip(format!("link set t{id} up")).unwrap();
        }
    }
    for address in WAYS {
        wait_for(address, 5, || lab.ping(address));
    }
    let all = vec![DATAGRAMS; WAYS.len()];
    assert_eq!(arrive(&lab), all, "the kernel alone");
    assert!(segment_arrives(&lab), "the kernel alone");
    for engine in ENGINES {
        let router = lab.run(&["r0", "r1"], &["--engine", engine]);
        lab.wait_for_fast_path(&router, &["10.1.0.2", "2001:db8:1::2"]);
        assert_eq!(arrive(&lab), all, "{engine}: {:#}", router.show("drops"));
        assert!(
            segment_arrives(&lab),
            "{engine}: {:#}",
            router.show("drops")
        );
        assert!(router.reason("partial-checksum") > 0, "{engine}");
    }
}
