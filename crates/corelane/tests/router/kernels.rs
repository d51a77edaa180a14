//! The same tests on another kernel: Debian's User Mode Linux, which has the VLAN and VRF devices,
//! the legacy tables and the IPVS that this machine's kernel may lack, and no links for programs at
//! tc, as kernels before Linux 6.6.
//!
//! The guest sees the machine's files, read-only, so it runs this very test program and this very
//! `corelane`. Its first process is a short shell script; when that has printed the outcome it
//! switches the guest off.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::lab::is_root;

const KERNEL: &str = "/usr/bin/linux.uml";
const MODULES: &str = "/usr/lib/uml/modules";
/// What the tests need of the guest's kernel, as Debian has it: as modules.
const WANTED: [&str; 18] = [
    "ipv6",
    "veth",
    "8021q",
    "vrf",
    "sch_ingress",
    "cls_bpf",
    "cls_u32",
    "bonding",
    "bridge",
    "geneve",
    "ip_gre",
    "macvlan",
    "sit",
    "vxlan",
    "iptable_filter",
    "ip6table_filter",
    "ip_vs",
    "ip_vs_rr",
];
/// Only ends a guest that hangs: boot and all tests take some four minutes alone where system calls of
/// guests are slow, and other tests have the cores meanwhile.
const PATIENCE: Duration = Duration::from_mins(12);

/// The guest's processes, gone when it is dropped.
pub(crate) struct Guest(Child);

impl Drop for Guest {
    fn drop(&mut self) {
        // SAFETY: numbers only; the group is the child's own, and the child has not been waited
        // for.
        unsafe { libc::kill(-self.0.id().cast_signed(), libc::SIGKILL) };
        // It is gone either way.
        let _ended = self.0.wait();
    }
}

impl Guest {
    /// Starts it, in a process group of its own, and waits for its end; what it printed.
    pub(crate) fn printed(mut command: Command, directory: &Path) -> String {
        let console = directory.join("console");
        let output = File::create(&console).unwrap();
        let child = command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .spawn()
            .unwrap();
        let mut guest = Self(child);
        let end = Instant::now() + PATIENCE;
        let read = || String::from_utf8_lossy(&fs::read(&console).unwrap()).into_owned();
        while guest.0.try_wait().unwrap().is_none() {
            assert!(Instant::now() < end, "the guest does not end:\n{}", read());
            std::thread::sleep(Duration::from_millis(50));
        }
        read()
    }
}

/// The files of the modules that are wanted and of those that they need, in the order in which they
/// can be loaded.
pub(crate) fn modules(version: &Path, wanted: &[&str]) -> Option<Vec<PathBuf>> {
    let needs = fs::read_to_string(version.join("modules.dep")).ok()?;
    let mut order: Vec<PathBuf> = Vec::new();
    for name in wanted {
        let end = format!("/{name}.ko");
        let mut lines = needs.lines().filter_map(|line| line.split_once(':'));
        let (file, first) = lines.find(|(file, _)| file.ends_with(&end))?;
        // What a module needs stands behind it, the deepest last.
        let all = first.split_whitespace().rev().chain([file]);
        for path in all.map(|path| version.join(path)) {
            if !order.contains(&path) {
                order.push(path);
            }
        }
    }
    Some(order)
}

/// Boots a guest that runs these tests of this program; returns what it printed.
fn in_guest(tests: &[&str], modules: &[PathBuf]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let init = directory.path().join("init");
    let own = std::env::current_exe().unwrap();
    let mut script: Vec<String> = [
        "export PATH=/usr/sbin:/usr/bin:/sbin:/bin TMPDIR=/run",
        "mount -t proc proc /proc",
        "mount -t sysfs sys /sys",
        "mount -t tmpfs run /run",
    ]
    .map(str::to_owned)
    .to_vec();
    let load = |module: &PathBuf| format!("busybox insmod {}", module.display());
    script.extend(modules.iter().map(load));
    let (own, tests) = (own.display(), tests.join(" "));
    script.push(format!(
        "{own} {tests} --exact --nocapture --test-threads 1"
    ));
    script.push("echo \"outcome $?\"\nbusybox poweroff -f\n".to_owned());
    fs::write(&init, script.join("\n")).unwrap();
    let mut command = Command::new(KERNEL);
    command
        .arg(format!("umid=corelane-guest-{}-tests", std::process::id()))
        .arg(format!("uml_dir={}/", directory.path().display()))
        .args([
            "mem=512M",
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
        ])
        .arg("init=/bin/sh")
        .args(["con=null", "con0=null,fd:1", "quiet", "panic=-1", "--"])
        .arg(&init)
        .env("TMPDIR", directory.path());
    Guest::printed(command, directory.path())
}

#[test]
fn what_this_kernel_may_lack_is_as_it_must_be_on_one_that_has_it() {
    if !is_root() || !needs::program("linux.uml") || !needs::program("busybox") {
        return;
    }
    if agent::registers::are_lost() {
        needs::skipped!(
            "User Mode Linux does not keep this processor's vector registers, which the \
             C library uses"
        );
        return;
    }
    let version = fs::read_dir(MODULES)
        .ok()
        .and_then(|mut all| all.next()?.ok());
    let Some(modules) = version.and_then(|version| modules(&version.path(), &WANTED)) else {
        needs::skipped!("needs the modules {WANTED:?} in {MODULES} (package user-mode-linux)");
        return;
    };
    let tests = [
        "router::devices::devices_of_software_forward_as_with_the_kernel_alone",
        "router::forwarding::a_vlan_is_tagged_on_its_way_out_and_in",
        "router::forwarding::a_vrf_has_routes_of_its_own",
        "router::lifecycle::what_a_killed_router_leaves_at_tc_does_nothing_and_is_removed",
        "router::segments::tcp_between_hosts_with_offloads_passes_in_whole_segments",
        "router::sizes::tables_that_are_too_few_or_too_small_leave_a_vrf_to_the_kernel",
        "router::sizes::vlans_that_are_too_few_leave_others_to_the_kernel",
        "router::tables::legacy_tables_leave_their_family_to_the_kernel",
        "router::tables::services_of_ipvs_leave_everything_to_the_kernel",
        "router::twins::vlans_and_vrfs_end_as_with_the_kernel_alone",
    ];
    let printed = in_guest(&tests, &modules);
    let passed = printed.contains("10 passed; 0 failed") && printed.contains("outcome 0");
    assert!(passed && !printed.contains("skipped:"), "{printed}");
}
