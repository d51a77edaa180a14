//! Ray tracing with POV-Ray: an embarrassingly parallel job with a serial start.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use host::temporary::Directory;

use super::bench::{Bench, Unable};
use super::{Kind, Prepared, Workload, plan};
use crate::harness::plan::CORES;

/// The workload.
pub const WORKLOAD: Workload = Workload {
    name: "raytrace",
    sentence: "Renders a vase with POV-Ray at 320x240 and at eight times the pixels, with one \
               thread a core. The scene is skyvase where it is installed, else one of ours.",
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
        .map(|&(width, height, _)| render(bench, width, height))
        .collect()
}

fn planned(bench: &Bench) -> Duration {
    sizes(bench)
        .iter()
        .map(|&(_, _, run)| plan::sweep(bench, run, None))
        .sum()
}

fn render(bench: &Bench, width: u32, height: u32) -> Result<Prepared, Unable> {
    Unable::unless_installed("povray", "povray")?;
    let directory =
        Directory::new("raytrace").map_err(Unable::failed("cannot make a directory"))?;
    let (scene, name) =
        scene(directory.path()).map_err(Unable::failed("cannot write the scene"))?;
    let scene = scene.display();
    let command = format!("povray +I{scene} +W{width} +H{height} +WT{CORES} -D +O/dev/null");
    Ok(Prepared {
        label: format!("{width}x{height}, {name}"),
        request: bench.request(command.split(' ')),
        shown: None,
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
