//! Where frames go: lines, JSON lines, or pcapng.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use fastpath::forward::capture::Shown;
use port::pcapng::{Packet, Verdict, Writer};

use super::Arguments;
use super::frame::Frame;

type Sink = BufWriter<Box<dyn Write>>;

/// What became of a frame at XDP: `XDP_DROP`, `XDP_PASS`, `XDP_REDIRECT`.
const XDP: [i64; 3] = [1, 2, 4];
/// The same at tc: `TCX_DROP`, `TCX_NEXT`, `TCX_REDIRECT`.
const TC: [i64; 3] = [2, -1, 7];

pub(super) struct Output {
    form: Form,
    /// For errors.
    file: PathBuf,
}

enum Form {
    Lines(Sink),
    Json(Sink),
    Pcapng {
        writer: Writer<Sink>,
        /// Numbers by name.
        interfaces: BTreeMap<String, u32>,
        snap: u32,
    },
}

impl Output {
    /// Creates the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn open(arguments: &Arguments) -> io::Result<Self> {
        let json = arguments.which.json.file();
        let file = arguments.write.as_deref().or(json);
        let file = file.unwrap_or_else(|| Path::new("-")).to_owned();
        let named = |error: io::Error| failed(&file, &error);
        let sink: Box<dyn Write> = if file == Path::new("-") {
            Box::new(io::stdout())
        } else {
            Box::new(File::create(&file).map_err(named)?)
        };
        let sink = BufWriter::new(sink);
        let form = if arguments.write.is_some() {
            let program = concat!("corelane ", env!("CARGO_PKG_VERSION"));
            Form::Pcapng {
                writer: Writer::new(sink, program).map_err(named)?,
                interfaces: BTreeMap::new(),
                snap: arguments.snap as u32,
            }
        } else if json.is_some() {
            Form::Json(sink)
        } else {
            Form::Lines(sink)
        };
        Ok(Self { form, file })
    }

    /// Tells a frame.
    ///
    /// # Errors
    /// The file's, as a full disk.
    pub(super) fn frame(&mut self, frame: &Frame, shown: &Shown<'_>) -> io::Result<()> {
        let written = match &mut self.form {
            Form::Lines(sink) => sink.write_all(frame.line().as_bytes()),
            Form::Json(sink) => serde_json::to_writer(&mut *sink, frame)
                .map_err(io::Error::from)
                .and_then(|()| sink.write_all(b"\n")),
            Form::Pcapng {
                writer,
                interfaces,
                snap,
            } => pcapng(writer, interfaces, *snap, frame, shown),
        };
        written.map_err(|error| failed(&self.file, &error))
    }

    /// Hands over what was told.
    ///
    /// # Errors
    /// As [`Output::frame`].
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let flushed = match &mut self.form {
            Form::Lines(sink) | Form::Json(sink) => sink.flush(),
            Form::Pcapng { writer, .. } => writer.flush(),
        };
        flushed.map_err(|error| failed(&self.file, &error))
    }
}

fn failed(file: &Path, error: &io::Error) -> io::Error {
    let said = format!("writing {}: {error}", file.display());
    io::Error::new(error.kind(), said)
}

fn pcapng(
    writer: &mut Writer<Sink>,
    interfaces: &mut BTreeMap<String, u32>,
    snap: u32,
    frame: &Frame,
    shown: &Shown<'_>,
) -> io::Result<()> {
    let known = interfaces.get(&frame.port).copied();
    let interface = if let Some(number) = known {
        number
    } else {
        let description = format!("port of corelane, {}", frame.mode);
        let number = writer.interface(&frame.port, &description, snap)?;
        interfaces.insert(frame.port.clone(), number);
        number
    };
    let [dropped, passed, redirected] = if frame.mode == "tc" { TC } else { XDP };
    let verdict = match shown.reason {
        None => redirected,
        Some(reason) if reason.is_punted() => passed,
        Some(_) => dropped,
    };
    let time = std::time::Duration::from_nanos(frame.time_ns);
    writer.packet(&Packet {
        interface,
        time,
        bytes: shown.bytes,
        wire_length: shown.length,
        comment: &frame.comment(),
        verdict: if frame.mode == "tc" {
            Verdict::Tc(verdict)
        } else {
            Verdict::Xdp(verdict)
        },
        lost: frame.lost,
    })
}
