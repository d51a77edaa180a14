//! Packs the objects of `bpf/built`, which the library carries inside: as they are, they would be an
//! eighth of the whole program.

use std::error::Error;
use std::fs;
use std::path::Path;

use flate2::{Compression, GzBuilder};

fn main() -> Result<(), Box<dyn Error>> {
    let built = Path::new("bpf/built");
    let out = std::env::var_os("OUT_DIR").ok_or("cargo names the directory of what is made")?;
    println!("cargo::rerun-if-changed={}", built.display());
    for object in fs::read_dir(built)? {
        let object = object?;
        let mut name = object.file_name();
        name.push(".gz");
        let packed = fs::File::create(Path::new(&out).join(name))?;
        let mut packed = GzBuilder::new().write(packed, Compression::best());
        std::io::copy(&mut fs::File::open(object.path())?, &mut packed)?;
        packed.finish()?;
    }
    Ok(())
}
