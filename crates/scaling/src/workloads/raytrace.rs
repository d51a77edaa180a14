//! Ray tracing with POV-Ray: an embarrassingly parallel job with a serial start.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use host::temporary::Directory;

use super::bench::{Bench, Unable};
use super::{Kind, Prepared, Workload, installed, plan};
use crate::harness::plan::{CORES, Mode};

/// The workload.
pub const WORKLOAD: Workload = Workload {
    name: "raytrace",
    sentence: "Renders a vase with POV-Ray at 320x240 and at eight times the pixels, with one \
               thread a core: the scene skyvase where it is installed, else one of ours like it.",
    then: "skyvase at 320x240 on two Pentium 233: 72 % of the time of one (1.39 times)",
    kind: Kind::Program { prepare, planned },
};

/// A scene of ours, used where the classic one is not installed.
const OWN_SCENE: &str = include_str!("vase.pov");

/// Width and height, and how long one core takes for our scene (a processor of 2.5 GHz).
const SIZES: [(u32, u32, Duration); 2] = [
    (320, 240, Duration::from_millis(900)),
    (904, 680, Duration::from_millis(2500)),
];

fn sizes(bench: &Bench) -> &'static [(u32, u32, Duration)] {
    &SIZES[..if bench.quick { 1 } else { SIZES.len() }]
}

fn prepare(bench: &Bench) -> Vec<Result<Prepared, Unable>> {
    sizes(bench)
        .iter()
        .map(|&(width, height, _)| render(width, height))
        .collect()
}

fn planned(bench: &Bench) -> Duration {
    sizes(bench)
        .iter()
        .map(|&(_, _, run)| plan::sweep(bench, run, None))
        .sum()
}

fn render(width: u32, height: u32) -> Result<Prepared, Unable> {
    if !installed("povray") {
        return Err(Unable::Absent {
            program: "povray".into(),
            packages: "povray".into(),
        });
    }
    let directory = Directory::new("raytrace")
        .map_err(|e| Unable::Failed(format!("cannot make a directory: {e}")))?;
    let (scene, name) = scene(directory.path())
        .map_err(|e| Unable::Failed(format!("cannot write the scene: {e}")))?;
    let command = [
        "povray".to_owned(),
        format!("+I{}", scene.display()),
        format!("+W{width}"),
        format!("+H{height}"),
        format!("+WT{CORES}"),
        "-D".to_owned(),
        "+O/dev/null".to_owned(),
    ];
    Ok(Prepared {
        label: format!("{width}x{height}, {name}"),
        command: command.to_vec(),
        prepare: None,
        mode: Mode::Threads,
        rounds: None,
        note: None,
        keep: Some(directory),
    })
}

/// The classic scene where an installation has it, else ours.
fn scene(directory: &Path) -> io::Result<(PathBuf, &'static str)> {
    let places = [
        "/usr/share/doc/povray/examples/advanced/skyvase.pov",
        "/usr/share/povray-3.7/scenes/advanced/skyvase.pov",
        "/usr/share/povray/scenes/advanced/skyvase.pov",
    ];
    if let Some(found) = places.iter().map(Path::new).find(|path| path.is_file()) {
        return Ok((found.to_owned(), "skyvase"));
    }
    let own = directory.join("vase.pov");
    fs::write(&own, OWN_SCENE)?;
    Ok((
        own,
        "a vase of ours like skyvase, which Debian does not package",
    ))
}
