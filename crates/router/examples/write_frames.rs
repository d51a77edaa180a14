//! Writes the first frames that `forward` replays into a capture file, for other programs to
//! replay.
//!
//! `write_frames FILE COUNT [routes file]`; the routes file has a prefix a line; without one a
//! generated table of the Internet's size.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;
use std::time::Duration;

use fib::{generated, prefix_file};
use port::memory::MemoryPort;
use port::pcap::Writer;
use port::pool::Layout;
use port::{Burst, Pool, Port};
use router::user_plane::test_traffic::{self, Destinations};

const SEED: u64 = 1;
const FRAME_BYTES: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, count, rest @ ..] = &arguments[..] else {
        return Err("write_frames FILE COUNT [routes file]".into());
    };
    let count: usize = count.parse()?;
    let prefixes = match rest.first() {
        Some(routes) => prefix_file::read(File::open(routes)?, routes)?,
        None => generated::internet(SEED),
    };
    let destinations = generated::addresses_hitting(SEED, &prefixes.v4, count);
    let frames = Arc::new(test_traffic::frames(
        Destinations::V4(&destinations),
        FRAME_BYTES,
    )?);
    let mut writer = Writer::new(BufWriter::new(File::create(file)?), file)?;
    let mut pool = Pool::new(Layout::ordinary(Burst::CAPACITY as u32))?;
    let (mut port, mut burst, mut written) =
        (MemoryPort::new("frames", frames, 0), Burst::new(), 0);
    while written < count {
        port.receive(&mut pool, &mut burst)?;
        for frame in burst.frames().iter().take(count - written) {
            writer.write(Duration::ZERO, pool.bytes(frame))?;
        }
        written += burst.len();
        pool.release_all(&mut burst);
    }
    writer.flush()?;
    Ok(())
}
