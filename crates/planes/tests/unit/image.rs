use super::*;

#[test]
fn modules_come_after_what_they_need_and_once() {
    let dependencies = "kernel/a/virtio_ring.ko:\nkernel/a/virtio.ko.xz: \
                        kernel/a/virtio_ring.ko\nkernel/a/virtio-pci.ko: \
                        kernel/a/virtio.ko.xz \
                        kernel/a/virtio_ring.ko\nkernel/n/virtio_net.ko: kernel/n/failover.ko \
                        kernel/a/virtio.ko.xz kernel/a/virtio_ring.ko\n";
    assert_eq!(
        order(dependencies, &["virtio_pci", "virtio_net", "built_in"]),
        [
            "kernel/a/virtio_ring.ko",
            "kernel/a/virtio.ko.xz",
            "kernel/a/virtio-pci.ko",
            "kernel/n/failover.ko",
            "kernel/n/virtio_net.ko"
        ]
    );
}

#[test]
fn a_kernel_without_modules_is_none() {
    let root = host::temporary::Directory::new("image").unwrap();
    let (boot, modules) = (
        root.path().join("boot"),
        root.path().join("lib/modules/6.1"),
    );
    fs::create_dir_all(&boot).unwrap();
    fs::create_dir_all(&modules).unwrap();
    let kernel = boot.join("vmlinuz-6.1");
    fs::write(&kernel, "").unwrap();
    assert_eq!(Image::of(&kernel), None);
    fs::write(modules.join("modules.dep"), "").unwrap();
    assert_eq!(Image::of(&kernel).unwrap().modules, modules);
    assert_eq!(Image::of(&boot.join("config-6.1")), None);
}
