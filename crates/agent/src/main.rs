//! The program of a plane: the first process of a kernel of its own, or a process beside others.
//!
//! `corelane-guest FILE` serves the link in FILE. As process 1 it first mounts what a kernel needs
//! to be talked to and loads the modules it was given, serves the link in its host's memory, and
//! powers the machine off when that ends.
//! Under the names `compute` and `registers` it is the management plane's handler: a CGI program.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use agent::kernel::Kernel;
use agent::protocol::LINK_BYTES;
use agent::serve::Agent;
use agent::{handler, registers};
use icc::{Link, LinkError, Mapping};
use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, finit_module, reboot};

/// The host's memory in User Mode Linux.
const MMAPPER: &str = "/dev/mmapper";
/// Vendor and device of the memory in a virtual machine (QEMU, `docs/specs/ivshmem-spec.rst`); its
/// second BAR is the memory.
const IVSHMEM: [&str; 2] = ["0x1af4", "0x1110"];
/// `MODULE_INIT_COMPRESSED_FILE` (Linux, `include/uapi/linux/module.h`).
const COMPRESSED: i32 = 4;
/// A link whose creator has not come by then will not come.
const TRIES: u32 = 1_000;

fn main() -> ExitCode {
    let path = std::env::args_os().next().map(PathBuf::from);
    let name = path.as_deref().and_then(Path::file_name);
    if let Some(name @ ("compute" | "registers")) = name.and_then(OsStr::to_str) {
        let query = std::env::var("QUERY_STRING").unwrap_or_default();
        let answer = handler::answer(name, &query);
        println!("Content-Type: text/plain\r\n\r\n{answer}");
        return ExitCode::SUCCESS;
    }
    let first = std::process::id() == 1;
    let outcome = if first {
        mount_all()
            .and_then(|()| load_modules())
            .map(|()| {
                if Path::new(MMAPPER).exists() && registers::are_lost() {
                    fib::table::avoid_vector_registers();
                }
            })
            .and_then(|()| serve(&hosts_memory()?))
    } else {
        match std::env::args_os().nth(1) {
            Some(path) => serve(&PathBuf::from(path)),
            None => Err(io::Error::other(
                "usage: corelane-guest FILE, the shared memory of a link",
            )),
        }
    };
    if let Err(error) = &outcome {
        eprintln!("corelane-guest: {error}");
    }
    if first {
        // Where the kernel cannot, it panics when process 1 ends, which ends it too.
        let _ = reboot(RebootCommand::PowerOff);
    }
    if outcome.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn serve(path: &Path) -> io::Result<()> {
    let file = File::options().read(true).write(true).open(path)?;
    let memory = Mapping::of(&file, LINK_BYTES)?;
    let mut tries = 0;
    let link = loop {
        match Link::join(memory.clone()) {
            Ok(link) => break link,
            Err(LinkError::Foreign { .. }) if tries < TRIES => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(io::Error::other(error)),
        }
    };
    Agent::new(link, Kernel::open()?)
        .serve()
        .map_err(io::Error::other)
}

/// Where this machine has its host's memory.
fn hosts_memory() -> io::Result<PathBuf> {
    for device in fs::read_dir("/sys/bus/pci/devices")
        .into_iter()
        .flatten()
        .flatten()
    {
        let path = device.path();
        let is = |file: &str| fs::read_to_string(path.join(file)).unwrap_or_default();
        if IVSHMEM
            == ["vendor", "device"]
                .map(is)
                .each_ref()
                .map(|text| text.trim())
        {
            fs::write(path.join("enable"), "1")?;
            return Ok(path.join("resource2"));
        }
    }
    Ok(PathBuf::from(MMAPPER))
}

/// Loads the modules of `/modules` in the order of their names.
fn load_modules() -> io::Result<()> {
    let entries = fs::read_dir("/modules")?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let file = File::open(&path)?;
        let flags = match path.extension().and_then(OsStr::to_str) {
            Some("ko") => 0,
            _ => COMPRESSED,
        };
        finit_module(&file, c"", flags)
            .map_err(|why| io::Error::other(format!("{}: {why}", path.display())))?;
    }
    Ok(())
}

fn mount_all() -> io::Result<()> {
    for (kind, place) in [("devtmpfs", "/dev"), ("proc", "/proc"), ("sysfs", "/sys")] {
        mount(kind, place, kind, MountFlags::empty(), None)?;
    }
    Ok(())
}
