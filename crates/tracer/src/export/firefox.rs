//! The Firefox Profiler's own form (profiler.firefox.com), version 48 of its "processed" profiles: a
//! track for each thread under study, with its time on cores and off them.
//!
//! A profile is columns. Each stack is a frame and the stack below it; frames, functions and strings
//! have the same numbers here, for a place is known by its name alone. Times are milliseconds since
//! the window began.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::collapsed::doing;
use super::spent::{Spent, State, spent};
use crate::analyse::Analysis;
use crate::event::Tid;
use crate::fast_map::FastMap;
use crate::trace::Trace;

/// The version whose columns these are; the profiler reads older ones.
const VERSION: u32 = 48;

/// Writes the profile.
///
/// # Errors
/// What the writer says.
pub fn write(trace: &Trace, analysis: &Analysis, out: &mut impl Write) -> io::Result<()> {
    let timeline = &analysis.timeline;
    let real = timeline
        .start
        .saturating_add_signed(trace.header.real_offset);
    let category =
        |name: &str, color: &str| json!({"name": name, "color": color, "subcategories": ["Other"]});
    let profile = json!({
        "meta": {
            "interval": 1,
            "startTime": milliseconds(real),
            "processType": 0,
            "product": trace.header.command,
            "stackwalk": 1,
            "version": 27,
            "preprocessedProfileVersion": VERSION,
            "symbolicated": true,
            "markerSchema": [],
            // In the order of `State`.
            "categories": [
                category("On a core", "green"),
                category("Waited", "yellow"),
                category("Had no core", "red"),
            ],
        },
        "libs": [],
        "pages": [],
        "threads": spent(trace, analysis)
            .iter()
            .map(|(tid, stretches)| thread(analysis, *tid, stretches))
            .collect::<Vec<_>>(),
    });
    serde_json::to_writer(&mut *out, &profile)?;
    Ok(())
}

fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// The stacks of one thread, each once.
#[derive(Default)]
struct Stacks {
    names: Vec<String>,
    numbers: FastMap<String, usize>,
    /// Number of a stack by the one below it, its frame and its category.
    known: FastMap<(Option<usize>, usize, usize), usize>,
    below: Vec<Option<usize>>,
    frames: Vec<usize>,
    categories: Vec<usize>,
}

impl Stacks {
    fn name(&mut self, name: &str) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        self.names.push(name.to_owned());
        let number = self.names.len() - 1;
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// Puts a frame upon a stack.
    fn on(&mut self, below: Option<usize>, name: &str, category: usize) -> usize {
        let frame = self.name(name);
        let key = (below, frame, category);
        if let Some(&stack) = self.known.get(&key) {
            return stack;
        }
        self.below.push(below);
        self.frames.push(frame);
        self.categories.push(category);
        let stack = self.frames.len() - 1;
        self.known.insert(key, stack);
        stack
    }

    /// The stack of a stretch; a thread that ran has one frame at least.
    fn of(&mut self, stretch: &Spent<'_>) -> usize {
        let category = match stretch.state {
            State::OnCore => 0,
            State::Waited => 1,
            State::NoCore => 2,
        };
        let frames = stretch.frames.iter().rev();
        let mut stack = None;
        for frame in frames {
            stack = Some(self.on(stack, frame, category));
        }
        match doing(stretch) {
            Some(doing) => self.on(stack, &doing, category),
            None => stack.unwrap_or_else(|| self.on(None, "[ran]", category)),
        }
    }
}

fn thread(analysis: &Analysis, tid: Tid, stretches: &[Spent<'_>]) -> Value {
    let timeline = &analysis.timeline;
    let process = timeline.threads.process(tid);
    let mut stacks = Stacks::default();
    let stack: Vec<_> = stretches.iter().map(|stretch| stacks.of(stretch)).collect();
    let column = |of: fn(&Spent<'_>) -> u64, since: u64| -> Vec<f64> {
        let since = |stretch| milliseconds(of(stretch).saturating_sub(since));
        stretches.iter().map(since).collect()
    };
    let (count, frames) = (stacks.frames.len(), stacks.names.len());
    let numbers: Vec<usize> = (0..frames).collect();
    let all = |value: Value| vec![value; frames];
    let (none, zero) = (all(Value::Null), all(json!(0)));
    let (minus, no) = (all(json!(-1)), all(json!(false)));
    json!({
        "name": timeline.threads.name(tid),
        "processName": timeline.threads.name(process),
        "processType": "default",
        "processStartupTime": 0,
        "processShutdownTime": null,
        "registerTime": 0,
        "unregisterTime": null,
        "pausedRanges": [],
        "isMainThread": tid == process,
        "pid": process.to_string(),
        "tid": tid,
        "samples": {
            "stack": stack,
            "time": column(|stretch| stretch.time, timeline.start),
            "weight": column(|stretch| stretch.length, 0),
            "weightType": "tracing-ms",
            "length": stretches.len(),
        },
        "markers": {
            "data": [], "name": [], "startTime": [], "endTime": [], "phase": [], "category": [],
            "length": 0,
        },
        "stackTable": {
            "frame": stacks.frames,
            "prefix": stacks.below,
            "category": stacks.categories,
            "subcategory": vec![0; count],
            "length": count,
        },
        "frameTable": {
            "address": minus, "inlineDepth": zero, "category": none, "subcategory": zero,
            "func": numbers, "nativeSymbol": none, "innerWindowID": zero, "implementation": none,
            "line": none, "column": none, "length": frames,
        },
        "funcTable": {
            "name": numbers, "isJS": no, "relevantForJS": no, "resource": minus,
            "fileName": none, "lineNumber": none, "columnNumber": none, "length": frames,
        },
        "resourceTable": {"lib": [], "name": [], "host": [], "type": [], "length": 0},
        "nativeSymbols": {
            "libIndex": [], "address": [], "name": [], "functionSize": [], "length": 0,
        },
        "stringArray": stacks.names,
    })
}
