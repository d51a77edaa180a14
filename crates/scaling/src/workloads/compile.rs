//! `make -j` on a tree of C files that we write ourselves, with a serial step of chosen size at the
//! end; on request a real Linux kernel from the distribution's source package.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, io};

use host::temporary::Directory;

use super::bench::{Bench, Unable};
use super::{Kind, Prepared, Workload, plan};
use crate::harness::plan::Mode;
use crate::measure::Request;

/// The workload.
pub const WORKLOAD: Workload = Workload {
    name: "compile",
    sentence: "Compiles a generated tree of C files with make -j, a fifth of it in a serial last \
               step; with --kernel also a Linux kernel.",
    then: "make -j2: QNX on two Celerons \"up to 60 percent faster\". Linux 2.2.7 302.77 against \
           395.04 s (1.30 times); 2.0.27 208.34 against 267.91 s (1.29 times), 148 % CPU",
    kind: Kind::Program { prepare, planned },
};

/// Serial share of the generated tree.
const SHARE: f64 = 0.2;
const FILES: usize = 16;
const FUNCTIONS: usize = 20;
/// How long one core takes for the tree (a processor of 2.5 GHz).
const RUN: Duration = Duration::from_secs(3);

/// A build of the kernel: what is made of it, in how many rounds, and how long one core takes (a
/// processor of 2.5 GHz).
struct Build {
    targets: &'static [&'static str],
    rounds: usize,
    run: Duration,
}

/// All of it: each build takes minutes.
const WHOLE: Build = Build {
    targets: &["vmlinux"],
    rounds: 2,
    run: Duration::from_secs(170),
};
/// When measuring less: two of its directories, with the headers that they need.
const PART: Build = Build {
    targets: &["kernel/", "mm/"],
    rounds: 1,
    run: Duration::from_mins(1),
};
/// What the kernel's build needs, and a header by which the library among it is known.
const KERNEL_PACKAGES: &str = "linux-source gcc make flex bison bc xz-utils libelf-dev";
const LIBELF: &str = "/usr/include/libelf.h";
/// How long its source takes to be unpacked and configured.
const UNPACK: Duration = Duration::from_secs(45);

fn prepare(bench: &Bench) -> Vec<Result<Prepared, Unable>> {
    let mut prepared = vec![generated(bench)];
    if bench.kernel {
        prepared.push(kernel(bench));
    }
    prepared
}

fn planned(bench: &Bench) -> Duration {
    let tree = plan::sweep(bench, one_core(bench), None);
    let build = build(bench.quick);
    tree + if bench.kernel {
        UNPACK + plan::sweep(bench, build.run, Some(build.rounds))
    } else {
        Duration::ZERO
    }
}

/// How long one core takes for the tree that we write ourselves.
pub(super) fn one_core(bench: &Bench) -> Duration {
    if bench.quick { RUN / 2 } else { RUN }
}

/// How much of the kernel is built.
const fn build(quick: bool) -> Build {
    if quick { PART } else { WHOLE }
}

/// The tree that we write ourselves.
pub(super) fn generated(bench: &Bench) -> Result<Prepared, Unable> {
    Unable::unless_installed("make", "make")?;
    Unable::unless_installed("cc", "gcc")?;
    let files = if bench.quick { FILES / 2 } else { FILES };
    let tree = Directory::new("compile").map_err(Unable::failed("cannot make a directory"))?;
    write_tree(tree.path(), files, FUNCTIONS, SHARE)
        .map_err(Unable::failed("cannot write the tree"))?;
    let label = format!(
        "{files} generated files, serial share {:.0} %",
        SHARE * 100.0
    );
    Ok(make(bench, label, tree, &[]))
}

/// `make` in `tree`, cleaned before each run.
fn make(bench: &Bench, label: String, tree: Directory, target: &[&str]) -> Prepared {
    let place = tree.path().display().to_string();
    let make = |more: &[&str]| {
        let fixed = ["make", "-s", "-C", &place];
        bench.request(fixed.iter().chain(more).copied())
    };
    Prepared {
        label,
        request: Request {
            prepare: Some(make(&["clean"]).command),
            mode: Some(Mode::Make),
            ..make(target)
        },
        shown: None,
        note: None,
        keep: Some(tree),
    }
}

/// Writes a tree whose parallel part is `files` files of `functions` functions, and whose last step
/// compiles one file that is as large as `share` of the whole.
///
/// # Errors
/// When a file cannot be written.
pub fn write_tree(directory: &Path, files: usize, functions: usize, share: f64) -> io::Result<()> {
    let serial = (share / (1.0 - share) * (files * functions) as f64).round() as usize;
    let mut objects = String::new();
    for file in 0..files {
        fs::write(
            directory.join(format!("part{file}.c")),
            source(file, functions),
        )?;
        let _ = write!(objects, " part{file}.o");
    }
    fs::write(directory.join("last.c"), source(files, serial))?;
    let makefile = format!(
        "CC = cc\nCFLAGS = -O2\nOBJECTS ={objects}\nall: $(OBJECTS)\n\t$(CC) $(CFLAGS) -c last.c \
         -o last.o\n\t$(CC) -shared -o all.so $(OBJECTS) last.o\n%.o: %.c\n\t$(CC) -fPIC \
         $(CFLAGS) -c $< -o $@\nclean:\n\trm -f *.o all.so\n.PHONY: all clean\n"
    )
    .replace("-c last.c", "-fPIC -c last.c");
    fs::write(directory.join("Makefile"), makefile)
}

/// Functions with loops and branches enough to keep an optimiser busy.
fn source(file: usize, functions: usize) -> String {
    let mut text = String::new();
    for n in 0..functions {
        let _ = write!(
            text,
            "unsigned f{file}_{n}(unsigned *a, unsigned n)\n{{\n\tunsigned i, j, s = {n};\n\tfor \
             (i = 0; i < n; i++)\n\t\tfor (j = i; j < n; j++)\n\t\t\ts = a[j] > s ? s * {mul}u + \
             a[i] : (s << {shift}) ^ (a[j] / (s % 7 + 1));\n\treturn s;\n}}\n",
            mul = 2 * n + 3,
            shift = n % 31 + 1
        );
    }
    text
}

/// The kernel from the newest source package that is installed, unpacked and configured.
fn kernel(bench: &Bench) -> Result<Prepared, Unable> {
    let absent = |program: &str| Unable::Absent {
        program: program.to_owned(),
        packages: KERNEL_PACKAGES.to_owned(),
    };
    for program in ["make", "cc", "flex", "bison", "bc", "xz"] {
        Unable::unless_installed(program, KERNEL_PACKAGES)?;
    }
    if !Path::new(LIBELF).is_file() {
        return Err(absent("libelf's header"));
    }
    let archive = newest_source()
        .ok_or_else(|| absent("the kernel's source (/usr/src/linux-source-*.tar.xz)"))?;
    let tree = Directory::new("kernel").map_err(Unable::failed("cannot make a directory"))?;
    let place = tree.path().display().to_string();
    let packed = archive.display().to_string();
    run(
        "tar",
        &["-xf", &packed, "-C", &place, "--strip-components=1"],
    )?;
    run("make", &["-s", "-C", &place, "tinyconfig"])?;
    let name = archive
        .file_stem()
        .map_or_else(String::new, |s| s.to_string_lossy().replace(".tar", ""));
    let Build {
        targets, rounds, ..
    } = build(bench.quick);
    let label = format!("{name}, tinyconfig, {}", targets.join(" and "));
    let mut prepared = make(bench, label, tree, targets);
    prepared.request.rounds = Some(rounds);
    prepared.note = Some(format!(
        "The kernel is built in {rounds} round{} only, because a build takes long: the interval \
         is no more than its extremes.",
        if rounds == 1 { "" } else { "s" }
    ));
    Ok(prepared)
}

fn newest_source() -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir("/usr/src")
        .ok()?
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with("linux-source-") && name.ends_with(".tar.xz")
        })
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found.pop()
}

fn run(program: &str, arguments: &[&str]) -> Result<(), Unable> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(Unable::failed(&format!("cannot run {program}")))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(Unable::Failed(format!(
        "{program} failed: {}",
        words.lines().last().unwrap_or("it says nothing")
    )))
}

#[cfg(test)]
#[path = "../../tests/unit/compile.rs"]
mod tests;
