use super::*;

const STAT: &str = "cpu  100 0 0 0 0 0 0 50 0 0\ncpu0 10 1 2 80 3 0 1 3 7 0\ncpu1 20 0 0 80 0 \
                    0 0 0 0 0\nintr 5\n";

#[test]
fn times_of_chosen_cores_are_summed() {
    let text = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 100 1 50 1000 20 3 4 30 0 0\ncpu1 1 1 1 1 1 1 \
                1 1 0 0\nintr 5\n";
    let times = parse_stat(text, &[CoreId(0)]);
    assert!((times.busy - 1.58).abs() < 1e-9 && (times.idle - 10.2).abs() < 1e-9);
    assert!((times.steal - 0.3).abs() < 1e-9 && (times.interrupt - 0.07).abs() < 1e-9);
    assert_eq!(parse_stat("", &[CoreId(0)]), Times::default());
    let seen = |cores: &[CoreId]| {
        let times = parse_stat(STAT, cores);
        [times.steal, times.total()].map(|seconds| (seconds / TICK).round())
    };
    assert_eq!(seen(&[CoreId(0)]), [3.0, 100.0]);
    assert_eq!(seen(&[CoreId(0), CoreId(1)]), [3.0, 200.0]);
    assert_eq!(seen(&[CoreId(7)]), [0.0, 0.0]);
}

#[test]
fn interrupts_are_named_by_device_or_description() {
    let before = "      CPU0 CPU1\n 36:  5 7 PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0\nLOC: \
                  10 20 Local timer interrupts\nERR: 0\n";
    let after = before.replace("5 7", "6 9").replace("10 20", "110 20");
    let read = |text: &str, cores: &[CoreId]| {
        let mut counts = BTreeMap::new();
        parse_counts(text, "interrupt", cores, &mut counts);
        Interrupts(counts)
    };
    let both = [CoreId(0), CoreId(1)];
    assert_eq!(
        read(before, &both).until(&read(&after, &both)),
        [
            ("interrupt local timer interrupts".to_owned(), 100),
            ("interrupt virtio1-req.0".to_owned(), 3)
        ]
    );
    assert_eq!(
        read(before, &[CoreId(1)])
            .until(&read(&after, &[CoreId(1)]))
            .len(),
        1
    );
}
