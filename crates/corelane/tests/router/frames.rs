//! Every byte of a forwarded frame, on the wire behind the router.

use super::lab::{Lab, is_root};
use super::raw::{Raw, checksum, ipv4, ipv6, mac};

/// The shortest frame on a wire, without FCS.
const SHORTEST: usize = 60;

/// What must come out: other Ethernet addresses, one hop less, the IPv4 sum over the new header,
/// and not a bit more. `trailer` bytes lie behind the packet.
fn expected(frame: &[u8], trailer: usize, to: [u8; 6], from: [u8; 6]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    frame.truncate(SHORTEST.max(frame.len() - trailer));
    frame[..6].copy_from_slice(&to);
    frame[6..12].copy_from_slice(&from);
    if frame[12] == 0x08 {
        frame[22] -= 1;
        frame[24..26].fill(0);
        let sum = checksum(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum);
    } else {
        frame[21] -= 1;
    }
    frame
}

#[test]
fn frames_leave_byte_for_byte_as_they_must() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let entering = (mac(&lab.r, "r0"), mac(&lab.a, "e0"));
    let leaving = (mac(&lab.b, "e1"), mac(&lab.r, "r1"));
    let (sender, receiver) = (Raw::open(&lab.a, "e0"), Raw::open(&lab.b, "e1"));
    let ways = [
        ["--engine", "xdp", "--require", "native"],
        ["--engine", "xdp", "--require", "generic"],
        ["--engine", "xdp-kernel-fib", "--require", "native"],
        ["--engine", "tc", "--require", "any"],
        ["--engine", "af-xdp", "--require", "native"],
    ];
    for words in ways {
        let router = lab.run(&["r0", "r1"], &words);
        lab.wait_for_fast_path(&router, &["10.1.0.2", "2001:db8:1::2"]);
        let before = router.forwarded();
        // Odd and even lengths, a sum that carries, the shortest frame and the longest.
        for length in [18usize, 19, 64, 255, 1471, 1472] {
            let payload: Vec<u8> = (0..length)
                .map(|at| (at * 7 + length) as u8 | 0xC0)
                .collect();
            let v6 = ipv6(
                entering,
                "2001:db8::2",
                "2001:db8:1::2",
                &payload[..length.min(1452)],
            );
            let v4 = ipv4(entering, [10, 0, 0, 2], [10, 1, 0, 2], 9, &payload);
            let room = (1514 - v4.len().max(v6.len())).min(90);
            for (packet, trailer) in [(&v4, 0), (&v6, 0), (&v4, room), (&v6, room)] {
                let mut frame = packet.clone();
                frame.resize(frame.len() + trailer, 0xEE);
                let wanted = expected(&frame, trailer, leaving.0, leaving.1);
                sender.send(&frame);
                // The addresses and ports tell it from whatever else is on the wire.
                let ours = |got: &[u8]| got.len() > 54 && got[26..54] == wanted[26..54];
                let got = receiver
                    .wait_for(ours)
                    .unwrap_or_else(|| panic!("{words:?}, {length} bytes: nothing came"));
                assert_eq!(
                    got, wanted,
                    "{words:?}, {length} bytes of payload, {trailer} behind"
                );
            }
        }
        assert!(
            router.forwarded() - before >= 24,
            "{words:?}: by the fast path, not by the kernel"
        );
    }
}
