//! Ray tracing with POV-Ray: an embarrassingly parallel job with a serial start.

use super::{
    Kind, Prepared, Workload,
    bench::{Bench, Unable},
    installed,
};
use crate::harness::plan::{CORES, Mode};
use host::temporary::Directory;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The workload.
pub const WORKLOAD: Workload = Workload {
    name: "raytrace",
    sentence: "Renders a vase with POV-Ray at 320x240 and at eight times the pixels, with one thread a core: the scene skyvase where it is \
               installed, else one of ours like it.",
    then: "skyvase at 320x240 on two Pentium 233: 72 % of the time of one",
    kind: Kind::Program(prepare),
};

/// A scene of ours, used where the classic one is not installed.
const OWN_SCENE: &str = include_str!("vase.pov");

fn prepare(bench: &Bench) -> Vec<Result<Prepared, Unable>> {
    let sizes: &[(u32, u32)] = if bench.quick {
        &[(320, 240)]
    } else {
        &[(320, 240), (904, 680)]
    };
    sizes
        .iter()
        .map(|&(width, height)| render(width, height))
        .collect()
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
        label: format!("{name}, {width}x{height}"),
        command: command.to_vec(),
        prepare: None,
        mode: Mode::Threads,
        rounds: None,
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
        "a vase like skyvase, which the distribution does not ship",
    ))
}
