//! The program's search against the tables of crate fib.

use std::net::Ipv4Addr;

use fastpath::forward::ReversePath;
use fib::{NextHop, NextHopEntry, Prefix};
use wire::{ipv4, ipv6};

use super::bench::{
    ADJACENCY, Bench, MAIN, REDIRECT, adjacency, frame, frame_short, settings, with_ipv4,
};
use crate::common::in_namespace;

#[test]
fn the_search_in_the_program_equals_the_tables() {
    in_namespace(|| {
        let mut bench = Bench::new();
        // One adjacency for each next hop, told apart by its address.
        let marks: Vec<_> = (0..200_u16).map(|mark| NextHop(1000 + mark)).collect();
        for &id in &marks {
            let entry = NextHopEntry {
                destination_mac: [2, 0, 0, 9, (id.0 >> 8) as u8, id.0 as u8],
                ..adjacency(bench.r1, 0)
            };
            bench.forwarder.set_next_hop(id, entry).unwrap();
        }
        let (table, what) = prefixes();
        println!(
            "{} IPv4 and {} IPv6 prefixes ({what})",
            table.v4.len(),
            table.v6.len()
        );
        let mut random = figures::Random::new(7);
        let mut mark = || marks[random.below(marks.len())];
        let v4: Vec<_> = table.v4.iter().map(|&prefix| (prefix, mark())).collect();
        let v6: Vec<_> = table.v6.iter().map(|&prefix| (prefix, mark())).collect();
        for part in v4.chunks(4096) {
            bench.forwarder.set_routes_v4(MAIN, part);
        }
        for part in v6.chunks(4096) {
            bench.forwarder.set_routes_v6(MAIN, part);
        }

        let seen = |frame: &[u8]| {
            let (verdict, after) = bench.run(frame);
            match verdict {
                REDIRECT => u16::from_be_bytes([after[4], after[5]]),
                _ => 0,
            }
        };
        let mut hits = 0;
        // Without UDP checksum: else one address in 65,536 makes it look partial.
        let mut frame4 = frame_short();
        frame4[40..42].fill(0);
        let boundaries = v4
            .iter()
            .step_by(v4.len() / 6_000 + 1)
            .flat_map(|(prefix, _)| {
                [
                    prefix.address(),
                    prefix.last(),
                    prefix.address().wrapping_sub(1),
                    prefix.last().wrapping_add(1),
                ]
            });
        let anywhere = fib::generated::addresses_anywhere::<u32>(3, 20_000);
        for address in boundaries.chain(anywhere) {
            if ipv4::destination_is_martian(address) || ipv4::destination_is_group(address) {
                continue;
            }
            frame4[30..34].copy_from_slice(&address.to_be_bytes());
            let mended = with_ipv4(frame4.clone(), |_| {});
            let wanted = bench.forwarder.lookup_v4(MAIN, address).0;
            let got = seen(&mended);
            let is_mark = wanted >= 1000;
            assert_eq!(
                got,
                if is_mark { wanted } else { got },
                "{}",
                Ipv4Addr::from(address)
            );
            assert!(is_mark || got < 1000, "{}", Ipv4Addr::from(address));
            hits += usize::from(is_mark);
        }
        assert!(hits > 5_000, "{hits} addresses hit");

        hits = 0;
        let mut frame6 = frame("2001:db8:19::2", 78, None);
        frame6[60..62].fill(0);
        let boundaries = v6
            .iter()
            .step_by(v6.len() / 6_000 + 1)
            .flat_map(|(prefix, _)| {
                [
                    prefix.address(),
                    prefix.last(),
                    prefix.address().wrapping_sub(1),
                    prefix.last().wrapping_add(1),
                ]
            });
        for address in boundaries.chain(fib::generated::addresses_anywhere::<u128>(4, 5_000)) {
            if ipv6::destination_is_martian(address) || ipv6::destination_is_group(address) {
                continue;
            }
            frame6[38..54].copy_from_slice(&address.to_be_bytes());
            let wanted = bench.forwarder.lookup_v6(MAIN, address).0;
            let got = seen(&frame6);
            assert!(
                got == wanted || (wanted < 1000 && got < 1000),
                "{address:x}: {got} for {wanted}"
            );
            hits += usize::from(wanted >= 1000);
        }
        assert!(hits > 5_000, "{hits} addresses hit");
    });
}

#[test]
fn what_is_remembered_of_sources_ends_with_the_next_change() {
    in_namespace(|| {
        let mut bench = Bench::new();
        let mut strict = settings();
        strict.accepts.reverse_path = ReversePath::Strict;
        bench.forwarder.set_port(bench.r0, &strict).unwrap();
        let back = NextHop(1000);
        let entry = adjacency(bench.r0, 0);
        bench.forwarder.set_next_hop(back, entry).unwrap();

        let mut random = figures::Random::new(9);
        let mut address = move || {
            let mut byte = || random.below(4) as u8;
            Ipv4Addr::new(198, 18, byte(), byte()).to_bits()
        };
        let mut random = figures::Random::new(10);
        let mut frame = frame_short();
        frame[40..42].fill(0);
        let mut ends = [0, 0];
        for _ in 0..4_000 {
            if random.below(4) == 0 {
                let length = [16, 24, 32][random.below(3)];
                let prefix = Prefix::containing(address(), length);
                let next_hop = [back, ADJACENCY, NextHop::NONE][random.below(3)];
                bench.forwarder.set_routes_v4(MAIN, &[(prefix, next_hop)]);
            }
            let source = address();
            let frame = with_ipv4(frame.clone(), |header| {
                header[12..16].copy_from_slice(&source.to_be_bytes());
            });
            let fits = bench.forwarder.lookup_v4(MAIN, source) == back;
            let (verdict, _) = bench.run(&frame);
            assert_eq!(verdict == REDIRECT, fits, "{}", Ipv4Addr::from(source));
            ends[usize::from(fits)] += 1;
        }
        assert!(ends.iter().all(|&count| count > 500), "{ends:?}");
    });
}

/// The Internet's table where there is one, else a generated one of its shape.
fn prefixes() -> (fib::prefix_file::Prefixes, &'static str) {
    let path = std::env::var_os("CORELANE_PREFIXES").map_or_else(
        || {
            std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../../shared/data/internet-prefixes.txt.gz")
        },
        std::path::PathBuf::from,
    );
    if path.exists() {
        let unpacked = std::process::Command::new("gzip")
            .arg("-dc")
            .arg(&path)
            .output()
            .unwrap();
        let table = fib::prefix_file::read(&unpacked.stdout[..], &path.to_string_lossy()).unwrap();
        return (table, "the Internet's");
    }
    needs::skipped!(
        "the Internet's table (set CORELANE_PREFIXES to a file of prefixes); a generated \
         one instead"
    );
    (fib::generated::internet(1), "generated")
}
