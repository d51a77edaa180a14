use super::*;

#[test]
fn interrupt_lines_have_their_device_names() {
    let table = "           CPU0       CPU1\n 24:  0  12  PCI-MSIX-0000:00:01.0  0-edge  \
                 virtio0-input.0\nLOC: 5 6 Local timer interrupts\n";
    assert_eq!(interrupt_names(table), [(24, "virtio0-input.0".to_owned())]);
}

#[test]
fn this_thread_is_among_the_threads() {
    let me = std::process::id();
    assert!(
        threads()
            .iter()
            .any(|change| change.tid == me && change.process == me)
    );
}
