use super::*;

#[test]
fn ports_fill_their_ranges_evenly_and_leave_them_never() {
    const FRAMES: u32 = 1 << 20;
    const PARTS: usize = 16;
    let mut sources = [0_u32; PARTS];
    let mut destinations = [0_u32; PARTS];
    let (mut least, mut most) = ((u16::MAX, u16::MAX), (0, 0));
    let part = |port: u16, range: &RangeInclusive<u16>| {
        let count = usize::from(range.end() - range.start()) + 1;
        usize::from(port - range.start()) * PARTS / count
    };
    for sequence in 1..=FRAMES {
        let (source, destination) = of(7, 3, sequence);
        sources[part(source, &SOURCES)] += 1;
        destinations[part(destination, &DESTINATIONS)] += 1;
        least = (least.0.min(source), least.1.min(destination));
        most = (most.0.max(source), most.1.max(destination));
    }
    // A port is missed by all of them with a chance of 2^-23 or less.
    assert_eq!((least, most), ((1024, 1), (65_535, 49_151)));
    let even = FRAMES / PARTS as u32;
    for count in sources.into_iter().chain(destinations) {
        assert!(count.abs_diff(even) < even / 50, "{count} of {even}");
    }
}

#[test]
fn the_seed_the_stream_and_the_frame_make_the_ports() {
    let first = of(1, 0, 1);
    assert_eq!(of(1, 0, 1), first);
    for other in [of(2, 0, 1), of(1, 1, 1), of(1, 0, 2)] {
        assert_ne!(other, first);
    }
    let pairs: std::collections::BTreeSet<_> = (1..=10_000).map(|frame| of(1, 0, frame)).collect();
    assert!(pairs.len() > 9_990, "{}", pairs.len());
}
