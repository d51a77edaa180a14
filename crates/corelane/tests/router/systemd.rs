//! A systemd of the test's own: the first process of namespaces in which this machine's files are
//! seen through an overlay, so that what it writes is gone with it. It knows no unit of this machine
//! but those named here.
//!
//! A shell makes all that and waits for the end of its input, which comes however the test ends;
//! then it kills what is in the control group of the guest, and removes that.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use host::Namespace;

use super::lab::{text, wait_for};

/// What holds the guest, in a mount namespace of its own. It has a cgroup namespace already: a mount
/// of the machine's root would set that root's options anew.
const HOLDER: &str = r#"
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root /mnt/groups
mount -t cgroup2 cgroup2 /mnt/groups
group=/mnt/groups/corelane-test-$$
mkdir $group
(
    echo 0 >$group/cgroup.procs
    exec unshare --mount --pid --fork --uts --ipc --cgroup bash -ec "$@"
) &
remove() {
    # It waits for the guest's end.
    echo $! >/mnt/groups/cgroup.procs || true
    echo 1 >$group/cgroup.kill
    wait 2>/dev/null
    find $group -depth -type d -exec rmdir {} +
}
trap remove EXIT
exec >&-
read -r || true
"#;

/// What becomes systemd, of the program, the directory `dist` and the units. The kernel's settings
/// are the machine's, so they are read-only.
const GUEST: &str = r#"
mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work overlay /mnt/root
cd /mnt/root
rm -rf etc/systemd
mkdir -p etc/systemd/system units/sockets.target.wants
for unit in $3; do cp "lib/systemd/system/$unit" units; done
ln -s ../systemd-journald.socket units/sockets.target.wants
echo 0123456789abcdef0123456789abcdef >etc/machine-id
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=755 tmpfs dev
mkdir dev/pts dev/shm
ln -s pts/ptmx dev
mount -t devpts devpts dev/pts
mount -t tmpfs tmpfs dev/shm
for device in null zero full random urandom tty; do
    touch dev/$device
    mount --bind /dev/$device dev/$device
done
touch usr/local/bin/corelane
mount --bind "$1" usr/local/bin/corelane
cp -r "$2" dist
read -r number _ </proc/self/stat
pivot_root . mnt
umount -l /mnt
echo "$number"
exec env -i container=corelane PATH="$PATH" SYSTEMD_UNIT_PATH=/etc/systemd/system:/units \
    /lib/systemd/systemd --unit=multi-user.target --log-target=journal </dev/null >/dev/null 2>&1
"#;

/// The machine's units that the guest has.
const UNITS: &str = "sysinit.target basic.target sockets.target multi-user.target network.target \
                     shutdown.target systemd-journald.socket systemd-journald.service";

/// Patience with a start, a stop or a restart, seconds; they take tenths of one alone.
pub(crate) const PATIENCE: u64 = 60;

/// A systemd; it ends with this.
pub(crate) struct Guest {
    holder: Child,
    /// Its first process, as this machine counts.
    first: String,
}

impl Guest {
    /// Boots it in a network namespace; says what is missing where that cannot be.
    pub(crate) fn boot(place: &Namespace) -> Option<Self> {
        let dist = concat!(env!("CARGO_MANIFEST_DIR"), "/../../dist");
        let mut holder = place
            .command("unshare")
            .args(["--cgroup", "bash", "-ec", HOLDER, "bash", GUEST, "bash"])
            .args([env!("CARGO_BIN_EXE_corelane"), dist, UNITS])
            // An interrupt ends the test, and that the guest.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        let mut out = BufReader::new(holder.stdout.take().unwrap());
        out.read_line(&mut first).unwrap();
        let first = first.trim().to_owned();
        let mut guest = Self { holder, first };
        if guest.first.is_empty() {
            let said = guest.end();
            needs::skipped!("needs a kernel that lets systemd have namespaces: {said}");
            return None;
        }
        let is_up = || guest.is("is-active multi-user.target");
        wait_for("systemd", PATIENCE, is_up);
        Some(guest)
    }

    /// Ends it; what the holder said.
    fn end(&mut self) -> String {
        drop(self.holder.stdin.take());
        let mut said = String::new();
        let mut errors = self.holder.stderr.take().unwrap();
        errors.read_to_string(&mut said).unwrap();
        self.holder.wait().unwrap();
        said.trim().to_owned()
    }

    /// A shell in the guest.
    fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("nsenter");
        let namespaces = ["--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup"];
        command.args(["--target", &self.first]).args(namespaces);
        command.args(["bash", "-ec", line]);
        command
    }

    /// What commands print, which must succeed.
    pub(crate) fn run(&self, line: &str) -> String {
        let output = self.shell(line).output().unwrap();
        assert!(output.status.success(), "{line}: {}", text(&output));
        text(&output).trim().to_owned()
    }

    pub(crate) fn is(&self, question: &str) -> bool {
        let line = format!("systemctl {question}");
        self.shell(&line).output().unwrap().status.success()
    }

    /// A file as the guest sees it.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        format!("/proc/{}/root/{path}", self.first).into()
    }

    /// The router's only process, as this machine counts; none between two.
    pub(crate) fn router(&self) -> Option<u32> {
        let group = self.path("sys/fs/cgroup/system.slice/corelane.service/cgroup.procs");
        fs::read_to_string(group).ok()?.trim().parse().ok()
    }

    pub(crate) fn journal(&self) -> String {
        self.run("journalctl -u corelane --no-pager")
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let journal = self.shell("journalctl --no-pager -n 100").output();
            println!("the guest's journal:\n{}", text(&journal.unwrap()));
        }
        if self.holder.stdin.is_some() {
            println!("the guest's end: {}", self.end());
        }
    }
}
