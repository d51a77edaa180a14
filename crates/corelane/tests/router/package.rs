//! The Debian package under a systemd: installed, forwarding after its ports are named and it is
//! started, by either unit, and gone without a trace.

use host::temporary::Directory;

use super::lab::{Lab, Socket, is_root};
use super::systemd::Guest;
use crate::dist;

#[test]
fn the_package_forwards_after_two_commands_and_is_removed_whole() {
    let programs = ["systemctl", "nsenter", "dpkg", "dpkg-deb", "python3"];
    if !is_root() || !programs.into_iter().all(needs::program) {
        return;
    }
    let directory = Directory::new("package").unwrap();
    let package = dist::named(&dist::make(directory.path()), ".deb");
    let lab = Lab::new();
    let Some(guest) = Guest::boot(&lab.r) else {
        return;
    };
    let dpkg = |what: &str| guest.run(&format!("PATH=$PATH:/usr/sbin:/sbin dpkg {what}"));
    dpkg(&format!("--install {}", package.display()));
    // The program itself: the package has one that calls it, which the unit's filter does not let.
    guest.run("mount --bind /usr/local/bin/corelane /usr/bin/corelane");
    // This systemd looks for units where it was told alone.
    guest.run("systemctl link /usr/lib/systemd/system/corelane.service");

    guest.run(r#"sed -i 's/"eth1", "eth2"/"r0", "r1"/' /etc/corelane.toml"#);
    guest.run("systemctl enable --now corelane");
    let socket = Socket(guest.path("run/corelane"));
    lab.wait_for_fast_path(&socket, &["10.1.0.2", "2001:db8:1::2"]);

    // A router of another name, by the template.
    guest.run("systemctl stop corelane");
    guest.run("mkdir /etc/corelane && cp /etc/corelane.toml /etc/corelane/edge.toml");
    guest.run("systemctl link /usr/lib/systemd/system/corelane@.service");
    guest.run("systemctl enable --now corelane@edge");
    let ports = guest.run("corelane show ports --instance edge --run-directory /run/corelane-edge");
    assert!(ports.contains("r0") && ports.contains("r1"), "{ports}");

    guest.run("umount /usr/bin/corelane");
    dpkg("--purge corelane");
    assert_eq!(guest.router(), None);
    assert!(!guest.is("is-active corelane@edge"));
    for gone in ["etc/corelane.toml", "usr/bin/corelane", "run/corelane"] {
        assert!(!guest.path(gone).exists(), "{gone}");
    }
}
