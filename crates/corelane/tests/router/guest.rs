//! A virtual machine with more processors than this one has: QEMU emulates them, with Debian's kernel.
//!
//! Its files are an archive of this very test program, this very `corelane`, and what they need. The
//! first process is a short shell script; when that has printed the outcome it switches the machine
//! off.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::kernels::Guest as Process;
use super::lab::text;
use crate::pages::repository;

const PROGRAM: &str = "qemu-system-x86_64";
/// What the tests need of the kernel, as Debian has it: as modules.
const WANTED: [&str; 1] = ["veth"];
/// Programs that the tests start.
const PROGRAMS: [&str; 2] = ["/usr/sbin/ip", "/usr/bin/uname"];
const SCRIPT: &str = "#!/bin/busybox sh
export PATH=/usr/sbin:/usr/bin:/bin TMPDIR=/run
for at in proc:/proc sysfs:/sys tmpfs:/run devtmpfs:/dev; do
    /bin/busybox mkdir -p ${at#*:}; /bin/busybox mount -t ${at%:*} none ${at#*:}
done
for file in /modules/*; do /bin/busybox insmod $file; done
ip link set lo up
";

/// A kernel and its modules.
pub(crate) struct Machine {
    kernel: PathBuf,
    modules: Vec<PathBuf>,
}

/// The last of this system's kernels that has its modules; says what is missing.
pub(crate) fn find() -> Option<Machine> {
    if !needs::program(PROGRAM) || !needs::program("busybox") {
        return None;
    }
    let files = fs::read_dir("/boot").into_iter().flatten().flatten();
    let mut kernels: Vec<_> = files.collect();
    kernels.sort_by_key(fs::DirEntry::path);
    let of = |kernel: PathBuf| {
        let version = kernel.file_name()?.to_str()?.strip_prefix("vmlinuz-")?;
        let modules = super::kernels::modules(&Path::new("/lib/modules").join(version), &WANTED)?;
        Some(Machine { kernel, modules })
    };
    let found = kernels
        .into_iter()
        .rev()
        .find_map(|kernel| of(kernel.path()));
    if found.is_none() {
        needs::skipped!("needs a kernel of /boot with modules (package linux-image-cloud-amd64)");
    }
    found
}

impl Machine {
    /// Boots it with so many processors, and runs one of this program's tests there; what it printed.
    pub(crate) fn run(&self, processors: usize, test: &str) -> String {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        let own = std::env::current_exe().unwrap();
        let corelane = Path::new(env!("CARGO_BIN_EXE_corelane"));
        for program in PROGRAMS.map(Path::new).into_iter().chain([corelane, &own]) {
            copy(&root, program);
            for library in libraries(program) {
                copy(&root, &library);
            }
        }
        // Documents are held against these.
        for schema in fs::read_dir(repository().join("docs/schemas")).unwrap() {
            copy(&root, &schema.unwrap().path());
        }
        let busybox = fs::canonicalize("/usr/bin/busybox").unwrap();
        fs::create_dir_all(root.join("bin")).unwrap();
        fs::copy(busybox, root.join("bin/busybox")).unwrap();
        symlink("busybox", root.join("bin/sh")).unwrap();
        symlink("busybox", root.join("bin/cat")).unwrap();
        fs::create_dir_all(root.join("modules")).unwrap();
        for (number, module) in self.modules.iter().enumerate() {
            fs::copy(module, root.join(format!("modules/{number:03}.ko"))).unwrap();
        }
        let init = root.join("init");
        let run = format!("{} {test} --exact --nocapture", own.display());
        let end = "echo \"outcome $?\"\n/bin/busybox poweroff -f\n";
        fs::write(&init, format!("{SCRIPT}{run}\n{end}")).unwrap();
        fs::set_permissions(&init, fs::Permissions::from_mode(0o755)).unwrap();
        let archive = directory.path().join("files");
        let pack = "find . | busybox cpio -o -H newc";
        let packed = Command::new("sh")
            .args(["-c", pack])
            .current_dir(&root)
            .stdout(fs::File::create(&archive).unwrap())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(packed.success(), "cpio");

        let mut command = Command::new(PROGRAM);
        command
            .args([
                "-machine",
                "q35",
                "-accel",
                "tcg,thread=multi",
                "-cpu",
                "max,la57=off",
            ])
            .args(["-smp", &processors.to_string(), "-m", "3000"])
            .args(["-nodefaults", "-no-user-config", "-no-reboot"])
            .args(["-display", "none", "-serial", "stdio"])
            .arg("-kernel")
            .arg(&self.kernel)
            .arg("-initrd")
            .arg(&archive)
            .args(["-append", "console=ttyS0 quiet panic=-1 mitigations=off"]);
        Process::printed(command, directory.path())
    }
}

/// Into the same place below `root`.
fn copy(root: &Path, file: &Path) {
    let to = root.join(file.strip_prefix("/").unwrap());
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(file, to).unwrap();
}

/// The libraries that a program is linked with.
fn libraries(program: &Path) -> BTreeSet<PathBuf> {
    let listed = Command::new("ldd").arg(program).output().unwrap();
    let words: Vec<String> = text(&listed)
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    words
        .into_iter()
        .filter(|word| word.starts_with('/'))
        .map(PathBuf::from)
        .collect()
}
