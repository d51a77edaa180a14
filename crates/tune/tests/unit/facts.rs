use super::queue_of;

#[test]
fn lines_of_queues_are_told_from_those_of_the_card() {
    assert_eq!(queue_of("eth0-TxRx-3"), Some(3));
    assert_eq!(queue_of("virtio0-input.1"), Some(1));
    assert_eq!(queue_of("mlx5_comp12@pci:0000:01:00.0"), Some(12));
    assert_eq!(queue_of("i40e-eth1-TxRx-0"), Some(0));
    for whole in [
        "virtio0-config",
        "mlx5_async0@pci:0000:01:00.0",
        "eth0",
        "eth0-fdir-1",
    ] {
        assert_eq!(queue_of(whole), None, "{whole}");
    }
}
