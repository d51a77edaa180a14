//! The report as one page: verdict, budget bar, lock table, and the timeline drawn by `timeline.js` from packed columns.
//!
//! The timeline's data are columns of variable-length numbers, deflated and in base64: about three bytes a slice. The page
//! loads nothing; the browser inflates the data itself (`DecompressionStream`) and draws only what is in view.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use report::{Block, Document, Table};

use crate::analyse::Analysis;
use crate::analyse::locks::Range;
use crate::event::Tid;
use crate::threads::Role;
use crate::timeline::{Cause, Doing, Timeline, UNKNOWN};
use crate::trace::Trace;
use crate::verdict::{Verdict, time, title, verdict};

const SCRIPT: &str = include_str!("timeline.js");
const STYLE: &str = include_str!("timeline.css");

/// Threads with a row of their own; the rest is seen on the cores.
const ROWS: usize = 64;

/// The whole report of a trace.
pub fn document(trace: &Trace, analysis: &Analysis) -> Document {
    let verdict = verdict(trace, analysis);
    let mut document = Document::new(format!("Trace: {}", trace.header.command));
    document.verdict.clone_from(&verdict.sentences);
    document = document
        .block(Block::Heading("Where the cores' time went".to_owned()))
        .block(Block::Html(bar(analysis)))
        .block(Block::Heading("Timeline".to_owned()))
        .block(Block::Html(timeline(analysis, "trace")));
    if !analysis.locks.is_empty() {
        document = document
            .block(Block::Heading("Locks".to_owned()))
            .block(Block::Table(lock_table(analysis, &verdict)));
    }
    document = document
        .block(Block::Heading("Interrupts".to_owned()))
        .block(Block::Table(interrupt_table(analysis)));
    let environment = [
        ("host", trace.header.host.clone()),
        ("kernel", trace.header.kernel.clone()),
        ("architecture", trace.header.architecture.clone()),
        ("recorder", trace.header.recorder.clone()),
        ("events", trace.events.len().to_string()),
        ("events lost", trace.events_lost().to_string()),
        ("not available", trace.header.missing.join("; ")),
    ];
    document.environment = environment
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    document
}

/// The timeline alone, to be put into another page; `id` tells several on one page apart.
pub fn timeline(analysis: &Analysis, id: &str) -> String {
    let data = base64(&deflate(&Columns::of(analysis).0));
    let script = if id == "trace" || id.ends_with("-1") {
        format!("<script>{SCRIPT}</script>")
    } else {
        String::new()
    };
    format!(
        "<style>{STYLE}</style><figure class=\"timeline\" id=\"{id}\"><div class=\"timeline-tools\">\
         <button type=\"button\" data-do=\"out\" aria-label=\"zoom out\">−</button>\
         <button type=\"button\" data-do=\"in\" aria-label=\"zoom in\">+</button>\
         <button type=\"button\" data-do=\"all\">all</button><span class=\"timeline-where\"></span></div>\
         <canvas tabindex=\"0\" aria-label=\"what each core and thread did over time\"></canvas>\
         <div class=\"timeline-tip\" hidden></div><figcaption>Each row is a core or a thread; colour is the thread. Drag to move, \
         wheel or pinch to zoom, arrow keys and + − 0 work too. Close up, arrows show who woke whom.</figcaption></figure>\
         {script}<script>corelaneTimeline(\"{id}\",\"{data}\");</script>\n"
    )
}

fn bar(analysis: &Analysis) -> String {
    let budget = &analysis.budget;
    let total = budget.total().max(1) as f64;
    let parts = [
        ("program", "the program", budget.program),
        ("locks", "idle: waited for locks", budget.idle_locks),
        (
            "waits",
            "idle: waited for messages, time, devices",
            budget.idle_waits,
        ),
        (
            "waking",
            "idle: a thread was on its way",
            budget.idle_waking,
        ),
        ("other", "other programs", budget.other + budget.recorder),
        ("kernel", "kernel threads", budget.kernel),
        (
            "interrupts",
            "interrupts",
            budget.interrupts + budget.softirqs,
        ),
        ("design", "idle: nothing further to run", budget.idle_design),
        ("unknown", "not explained", budget.unknown),
    ];
    let mut out = String::from(
        "<div class=\"budget\" role=\"img\" aria-label=\"share of core time by use\">",
    );
    for (class, words, part) in parts.iter().filter(|(.., part)| *part > 0) {
        let share = *part as f64 / total * 100.0;
        let _ = write!(
            out,
            "<i class=\"b-{class}\" style=\"flex-grow:{share:.3}\" title=\"{words}: {share:.1} %\"></i>"
        );
    }
    out.push_str("</div><ul class=\"budget-key\">");
    for (class, words, part) in parts
        .iter()
        .filter(|(.., part)| *part as f64 >= total * 0.0005)
    {
        let cores = budget.in_cores(*part);
        let _ = write!(
            out,
            "<li><i class=\"b-{class}\"></i>{words}: <b>{cores:.2}</b> {} ({:.1} %)</li>",
            if (cores - 1.0).abs() < 0.005 {
                "core"
            } else {
                "cores"
            },
            *part as f64 / total * 100.0
        );
    }
    out.push_str("</ul>\n");
    out
}

fn lock_table(analysis: &Analysis, verdict: &Verdict) -> Table {
    const MOST: usize = 12;
    let mut table = Table::new("")
        .text("lock")
        .number("waits")
        .number("mean wait")
        .number("contended")
        .number("waiting")
        .number("cores lost")
        .number("serial")
        .number("gain without");
    let range = |range: Range| format!("{:.2}–{:.2}×", range.low, range.high);
    for (index, lock) in analysis.locks.iter().enumerate().take(MOST) {
        let mark = if verdict.blamed.contains(&index) {
            "▸ "
        } else {
            ""
        };
        table.push([
            format!("{mark}{}", title(lock)),
            lock.waited.waits.count.to_string(),
            time(lock.waited.waits.mean() as u64),
            format!("{:.1} %", lock.contended_share * 100.0),
            format!("{:.2}", lock.mean_waiters),
            format!("{:.2}", lock.lost_cores),
            lock.demand
                .map_or("–".to_owned(), |demand| format!("{:.2}", demand.serial)),
            lock.gain.map_or("–".to_owned(), |gain| range(gain.removed)),
        ]);
    }
    table.caption(
        "Contended: share of the time with at least one thread waiting. Waiting: threads waiting on average. \
         Cores lost: cores that idled meanwhile. Blamed locks are marked.",
    )
}

fn interrupt_table(analysis: &Analysis) -> Table {
    const MOST: usize = 10;
    let wall = analysis.timeline.wall().max(1) as f64;
    let mut table = Table::new("")
        .text("interrupt")
        .number("core")
        .number("count")
        .number("share of the core")
        .number("longest");
    for placement in analysis.interrupts.iter().take(MOST) {
        table.push([
            placement.what.to_string(),
            placement.cpu.to_string(),
            placement.count.to_string(),
            format!("{:.2} %", placement.time as f64 / wall * 100.0),
            time(placement.longest),
        ]);
    }
    table
}

/// The timeline's data: see `timeline.js`, which reads it in the same order.
struct Columns(Vec<u8>);

impl Columns {
    fn of(analysis: &Analysis) -> Self {
        let timeline = &analysis.timeline;
        let mut columns = Self(Vec::new());
        let names = Names::of(timeline);
        columns.number(timeline.wall());
        columns.number(names.list.len() as u64);
        for (tid, name, role) in &names.list {
            columns.number(u64::from(*tid));
            columns.number(*role);
            columns.text(name);
        }
        columns.cores(timeline, &names);
        columns.threads(analysis, &names);
        columns.locks(analysis, &names);
        columns
    }

    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    /// For each core its runs without the idle ones: gap, length, thread.
    fn cores(&mut self, timeline: &Timeline, names: &Names) {
        self.number(timeline.cores.len() as u64);
        for (cpu, runs) in timeline.cores.iter().zip(&timeline.runs) {
            let busy: Vec<_> = runs.iter().filter(|run| run.tid != 0).collect();
            self.number(u64::from(*cpu));
            self.number(busy.len() as u64);
            let mut at = timeline.start;
            for run in &busy {
                self.number(run.start - at);
                at = run.end;
            }
            for run in &busy {
                self.number(run.end - run.start);
            }
            for run in &busy {
                self.number(names.index(run.tid));
            }
        }
    }

    /// For each thread with a row its segments: gap, length, state, who woke it.
    fn threads(&mut self, analysis: &Analysis, names: &Names) {
        let timeline = &analysis.timeline;
        let is_lock = |object: u32| {
            analysis
                .classes
                .get(object as usize)
                .is_some_and(|class| class.is_lock())
        };
        let rows = rows(timeline);
        self.number(rows.len() as u64);
        for life in rows {
            self.number(names.index(life.tid));
            self.number(life.segments.len() as u64);
            let mut at = timeline.start;
            for segment in &life.segments {
                self.number(segment.start.saturating_sub(at));
                at = segment.end;
            }
            for segment in &life.segments {
                self.number(segment.end - segment.start);
            }
            for segment in &life.segments {
                self.number(match segment.doing {
                    Doing::Running(cpu) => 8 + u64::from(cpu),
                    Doing::Runnable => 0,
                    Doing::Blocked(Cause::Futex(object)) if is_lock(object) => 1,
                    Doing::Blocked(Cause::KernelLock(_)) => 2,
                    Doing::Blocked(Cause::Disk) => 3,
                    Doing::Blocked(Cause::Timer) => 4,
                    Doing::Blocked(Cause::Network | Cause::Device) => 5,
                    Doing::Blocked(Cause::Thread) => 6,
                    Doing::Blocked(Cause::Futex(_) | Cause::Stopped | Cause::Unknown) => 7,
                });
            }
            for segment in &life.segments {
                self.number(if segment.waker == UNKNOWN {
                    0
                } else {
                    names.index(segment.waker) + 1
                });
            }
        }
    }

    /// For each lock worth a row the waits before it: gap between starts, length, thread.
    fn locks(&mut self, analysis: &Analysis, names: &Names) {
        const MOST: usize = 8;
        const WORTH_A_ROW: f64 = 0.002;
        let timeline = &analysis.timeline;
        let locks: Vec<_> = analysis
            .locks
            .iter()
            .filter(|lock| lock.contended_share >= WORTH_A_ROW)
            .take(MOST)
            .collect();
        self.number(locks.len() as u64);
        for lock in locks {
            let mut waits: Vec<(u64, u64, Tid)> = timeline
                .lives
                .iter()
                .filter(|life| timeline.threads.role(life.tid) == Role::Target)
                .flat_map(|life| life.segments.iter().map(|segment| (segment, life.tid)))
                .filter(|(segment, _)| {
                    matches!(segment.doing, Doing::Blocked(Cause::Futex(index) | Cause::KernelLock(index)) if index == lock.index)
                })
                .map(|(segment, tid)| (segment.start, segment.end, tid))
                .collect();
            waits.sort_unstable();
            self.text(&title(lock));
            self.number(waits.len() as u64);
            let mut at = timeline.start;
            for (start, ..) in &waits {
                self.number(start - at);
                at = *start;
            }
            for (start, end, _) in &waits {
                self.number(end - start);
            }
            for (.., tid) in &waits {
                self.number(names.index(*tid));
            }
        }
    }
}

/// The threads with rows of their own: the program's, by time on a core.
fn rows(timeline: &Timeline) -> Vec<&crate::timeline::Life> {
    let ran = |life: &crate::timeline::Life| {
        life.segments
            .iter()
            .filter(|segment| matches!(segment.doing, Doing::Running(_)))
            .map(|segment| segment.end - segment.start)
            .sum::<u64>()
    };
    let mut rows: Vec<_> = timeline
        .lives
        .iter()
        .filter(|life| timeline.threads.role(life.tid) == Role::Target)
        .map(|life| (ran(life), life))
        .collect();
    rows.sort_by_key(|(time, life)| (std::cmp::Reverse(*time), life.tid));
    rows.truncate(ROWS);
    rows.into_iter().map(|(_, life)| life).collect()
}

/// Threads by their place in the page's list.
struct Names {
    list: Vec<(Tid, String, u64)>,
    places: crate::fast_map::FastMap<Tid, u64>,
}

impl Names {
    fn of(timeline: &Timeline) -> Self {
        let mut names = Self {
            list: vec![(UNKNOWN, "not known".to_owned(), 5)],
            places: crate::fast_map::FastMap::default(),
        };
        names.places.insert(UNKNOWN, 0);
        for life in &timeline.lives {
            let role = match timeline.threads.role(life.tid) {
                Role::Target => 0,
                Role::Other => 1,
                Role::Kernel => 2,
                Role::Recorder => 3,
                Role::Idle => 4,
            };
            names.places.insert(life.tid, names.list.len() as u64);
            names
                .list
                .push((life.tid, timeline.threads.name(life.tid), role));
        }
        names
    }

    fn index(&self, tid: Tid) -> u64 {
        self.places.get(&tid).copied().unwrap_or(0)
    }
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(6));
    // A vector takes everything; were it not so, the page would have an empty timeline.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk
            .iter()
            .fold(0_u32, |word, byte| word << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for place in 0..4 {
            if place <= chunk.len() {
                out.push(LETTERS[(word >> (18 - 6 * place) & 63) as usize] as char);
            } else {
                out.push('=');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_of_the_rfc() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
