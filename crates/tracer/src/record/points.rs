//! Which tracepoints are opened, by what the kernel has and what was asked for.

use super::catalogue::{CATALOGUE, Decoder, Decoders, Entry, Point};
use super::layout::Layout;
use super::sources::{Chain, Wanted};
use super::switches::{Switches, Which};
use super::{Backend, Options, RecordError, Unwinding};
use crate::event::Interrupt;
use crate::trace::Header;

/// The decoders by tracepoint number, and what to open.
pub(super) type Points = (Decoders, Vec<Wanted>);

fn entries(options: &Options) -> impl Iterator<Item = &'static Entry> {
    let packets = options.packets;
    CATALOGUE
        .iter()
        .filter(move |entry| packets || !entry.point.is_of_packets())
}

/// The tracepoints' paths below `events`, in the order of the catalogue.
pub(super) fn paths(options: &Options) -> Vec<String> {
    entries(options)
        .map(|entry| entry.path.to_owned())
        .collect()
}

/// The programs for switches and wake-ups, where the kernel takes them; otherwise the header tells
/// why not.
pub(super) fn switches(options: &Options, header: &mut Header) -> Option<(Switches, Which)> {
    if options.backend == Backend::Perf {
        "perf, as asked".clone_into(&mut header.switches);
        return None;
    }
    let which = Which {
        // Only perf has the code places of wake-ups.
        wakings: options.stacks.is_none(),
    };
    let last = header.cores.last().copied()?;
    match Switches::open(&options.system.types, last, options.ring_bytes, which) {
        Ok(switches) => {
            "eBPF".clone_into(&mut header.switches);
            Some((switches, which))
        }
        Err(reason) => {
            header.switches = format!("perf: {reason}");
            None
        }
    }
}

/// Reads the `format` files; what is missing is told in the header.
///
/// # Errors
/// [`RecordError::NoPoint`] when one is missing without which nothing works.
pub(super) fn points(
    options: &Options,
    formats: &[Option<String>],
    programs: Option<Which>,
    header: &mut Header,
) -> Result<Points, RecordError> {
    let by_program = |point: Point| match (point, programs) {
        (Point::Switch, Some(_)) => true,
        (Point::Waking, Some(which)) => which.wakings,
        _ => false,
    };
    let mut decoders = Decoders::default();
    let mut wanted = Vec::new();
    for (entry, format) in entries(options).zip(formats) {
        let name = entry.path.replace('/', ":");
        if by_program(entry.point) {
            header.events.push(name);
            continue;
        }
        let found = format
            .as_deref()
            .and_then(Layout::parse)
            .and_then(|layout| {
                let decoder = Decoder::new(entry, &layout)?;
                Some((layout.id, decoder))
            });
        let Some((id, decoder)) = found else {
            let Some(without) = entry.without else {
                return Err(RecordError::NoPoint {
                    kernel: header.kernel.clone(),
                    point: entry.path,
                });
            };
            header.missing.push(format!("{name}: {without}"));
            continue;
        };
        decoders.insert(id, decoder);
        header.events.push(name);
        let stack = chain(entry.point, options.stacks);
        wanted.push(Wanted { id, stack });
    }
    Ok((decoders, wanted))
}

/// The code places that are recorded with a tracepoint.
fn chain(point: Point, stacks: Option<Unwinding>) -> Option<Chain> {
    /// Enough to get out of the lock's own functions.
    const PLACE: u16 = 24;
    /// Enough to get out of the interrupt's entry and see who polls.
    const SAMPLE: u16 = 8;
    let (kernel, user, frames) = match point {
        // Slow paths of kernel locks are rare, and without their caller most kernel locks have no
        // name.
        Point::LockBegin => (true, stacks.is_some(), PLACE),
        Point::FutexEnter | Point::Waking if stacks.is_some() => (false, true, PLACE),
        // The tick that comes anyway samples the running code; an event of its own would cost an
        // interrupt each.
        Point::Begin(Interrupt::Timer) => (true, true, SAMPLE),
        _ => return None,
    };
    let copied = stacks == Some(Unwinding::Tables);
    Some(Chain {
        kernel,
        user: user && !copied,
        copied: user && copied,
        frames,
    })
}

#[cfg(test)]
#[path = "../../tests/unit/record_points.rs"]
mod tests;
