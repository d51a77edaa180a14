//! Of `dut/src/routes.rs`.

use std::io::Write;
use std::net::Ipv4Addr;

use super::*;

fn file(name: &str, text: &[u8]) -> (host::temporary::Directory, std::path::PathBuf) {
    let directory = host::temporary::Directory::new("routes").unwrap();
    let path = directory.path().join(name);
    File::create(&path).unwrap().write_all(text).unwrap();
    (directory, path)
}

fn error_of(name: &str, text: &[u8]) -> String {
    let (_directory, path) = file(name, text);
    load(Some(&path), usize::MAX, 1).err().unwrap().to_string()
}

#[test]
fn a_bad_line_is_named_and_nothing_is_loaded() {
    let error = error_of("r.txt", b"10.0.0.0/8\n10.0.0.0/33\n");
    assert!(error.contains("r.txt:2: prefix length 33"), "{error}");
}

#[test]
fn no_file_no_prefix_no_gzip_are_told_apart() {
    assert!(
        load(Some(Path::new("/nonexistent")), usize::MAX, 1)
            .err()
            .unwrap()
            .to_string()
            .contains("cannot read the routes file")
    );
    assert!(error_of("r.txt", b"# nothing\n").contains("has no IPv4 prefix"));
    assert!(error_of("r.txt.gz", b"10.0.0.0/8\n").contains("cannot unpack"));
}

#[test]
fn martians_and_the_bench_are_no_destinations() {
    let reached = |text: &str| is_forwarded(text.parse::<Ipv4Addr>().unwrap().to_bits());
    let martians = "0.1.2.3 127.0.0.1 169.254.1.1 224.0.0.1 255.255.255.255 198.18.0.1 \
                    198.19.255.255";
    for address in martians.split(' ') {
        assert!(!reached(address), "{address}");
    }
    for address in ["1.0.0.1", "198.17.255.255", "198.20.0.1", "223.255.255.255"] {
        assert!(reached(address), "{address}");
    }
    assert!(error_of("r.txt", b"127.0.0.0/8\n").contains("has an address that routers forward to"));
}

#[test]
fn prefixes_count_once_and_destinations_hit_them() {
    let (_directory, path) = file(
        "r.txt",
        b"192.0.2.0/24\n10.0.0.0/8\n192.0.2.0/24\n2001:db8::/32\n",
    );
    let routes = load(Some(&path), usize::MAX, 1).unwrap();
    assert_eq!((routes.prefixes.v4.len(), routes.prefixes.v6.len()), (2, 1));
    assert_eq!(routes.from, "r.txt, 2 IPv4 and 1 IPv6 prefixes");
    assert_eq!(routes.destinations.len(), DESTINATIONS);
    assert!(
        routes
            .destinations
            .iter()
            .all(|address| address >> 24 == 10 || address >> 8 == 0x00c0_0002)
    );
}

#[test]
fn destinations_for_benchmarks_lie_in_their_networks_each_once() {
    for count in [1, 192, 4096] {
        let routes = of_benchmarks(count, 1).unwrap();
        let mut all = routes.destinations.clone();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count as usize);
        let covered = |address: &u32| {
            let mut prefixes = routes.prefixes.v4.iter();
            prefixes.any(|prefix| prefix.contains(*address))
        };
        assert!(all.iter().all(covered), "{count}");
    }
}

#[test]
fn a_generated_table_is_drawn_from_and_says_so() {
    let routes = load(None, 1_000, 1).unwrap();
    assert_eq!(routes.prefixes.v4.len(), 1_000);
    assert!(routes.prefixes.v4.is_sorted());
    assert!(
        routes.from.contains("of which some are drawn, 1,000 IPv4"),
        "{}",
        routes.from
    );
}
