//! A set of small loops in the manner of `UnixBench`, as one copy and as a copy on every core. The
//! index is against this machine's own single copy (10), not against a workstation of 1995.

use std::hint::black_box;
use std::io::{self, Read, Seek, Write};
use std::process::{Command, Stdio};
use std::thread;

use figures::geometric_mean;
use rustix::process::getppid;

use super::{Body, Kind, Loop, Test, Workload, done, nothing};
use crate::result::ScaleResult;

/// The workload.
pub const WORKLOAD: Workload = Workload {
    name: "unix",
    sentence: "Runs eight small loops (arithmetic, system calls, pipes, processes, files, shell) \
               as one copy and as a copy on each core.",
    then: "no figures: \"close to linear for processor-bound programs, as low as one processor \
           for those that make many system calls\"",
    kind: Kind::Loop(Loop {
        unit: "loops",
        variants: |_| {
            TESTS
                .iter()
                .enumerate()
                .map(|(index, test)| (test.0.to_owned(), index))
                .collect()
        },
        start: |index| TESTS[index.min(TESTS.len() - 1)].1(),
        threads: false,
        now,
    }),
};

const TESTS: [Test; 8] = [
    ("integers and strings", integers),
    ("floating point", floats),
    ("system calls", system_calls),
    ("pipe throughput", pipe_throughput),
    ("switches over a pipe", pipe_switches),
    ("processes", processes),
    ("file copy", file_copy),
    ("shell script", shell),
];

fn integers() -> Body {
    let mut text = String::new();
    Box::new(move || {
        for turn in 0..200_u32 {
            text.clear();
            for letter in 0..30 {
                text.push(char::from(b'A' + ((turn + letter) % 26) as u8));
            }
            black_box(
                text.bytes()
                    .fold(turn, |hash, b| hash.wrapping_mul(31) ^ u32::from(b)),
            );
        }
        200.0
    })
}

fn floats() -> Body {
    let mut x = 0.5_f64;
    Box::new(move || {
        for _ in 0..200 {
            x = (x.sin() + 1.1).sqrt().ln().abs().exp() * 0.4 + 0.1;
        }
        black_box(x);
        200.0
    })
}

fn system_calls() -> Body {
    Box::new(|| {
        for _ in 0..200 {
            // Never answered from user space.
            black_box(getppid());
        }
        200.0
    })
}

fn pipe_throughput() -> Body {
    let Ok((mut reader, mut writer)) = std::io::pipe() else {
        return nothing();
    };
    let mut block = [0_u8; 512];
    Box::new(move || {
        let mut there_and_back = || -> io::Result<()> {
            writer.write_all(&block)?;
            reader.read_exact(&mut block)
        };
        done(50.0, (0..50).all(|_| there_and_back().is_ok()))
    })
}

fn pipe_switches() -> Body {
    let (Ok((mut there, mut ask)), Ok((mut answer, mut back))) = (std::io::pipe(), std::io::pipe())
    else {
        return nothing();
    };
    thread::spawn(move || {
        let mut byte = [0_u8];
        while there.read_exact(&mut byte).is_ok() && back.write_all(&byte).is_ok() {}
    });
    Box::new(move || {
        let mut there_and_back = || -> io::Result<()> {
            ask.write_all(&[1])?;
            answer.read_exact(&mut [0])
        };
        done(20.0, (0..20).all(|_| there_and_back().is_ok()))
    })
}

fn program(name: &str, arguments: &[&str]) -> f64 {
    let mut command = Command::new(name);
    let status = command.args(arguments).stdin(Stdio::null()).status();
    done(1.0, status.is_ok_and(|status| status.success()))
}

fn processes() -> Body {
    Box::new(|| program("/bin/true", &[]))
}

pub(super) fn file_copy() -> Body {
    // The file has no name while it is used, so nothing is left whatever happens.
    let Ok(mut file) = tempfile::tempfile() else {
        return nothing();
    };
    let mut block = [7_u8; 1024];
    Box::new(move || {
        let mut turn = || -> io::Result<()> {
            file.rewind()?;
            (0..64).try_for_each(|_| file.write_all(&block))?;
            file.rewind()?;
            (0..64).try_for_each(|_| file.read_exact(&mut block))
        };
        done(64.0, turn().is_ok())
    })
}

fn shell() -> Body {
    let script = "i=0; while [ $i -lt 50 ]; do i=$((i+1)); done; (echo c; echo a; echo b) | sort \
                  >/dev/null";
    Box::new(move || program("sh", &["-c", script]))
}

fn now(results: &[(String, ScaleResult)]) -> String {
    let last = |(label, result): &'_ (String, ScaleResult)| {
        let point = super::last(result)?;
        Some((label.clone(), point.speedup, point.cores))
    };
    let gains: Vec<(String, f64, u32)> = results.iter().filter_map(last).collect();
    let Some((_, _, cores)) = gains.first() else {
        return String::new();
    };
    let index = 10.0 * geometric_mean(&gains.iter().map(|g| g.1).collect::<Vec<_>>());
    let worst = gains.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let worst = worst.map_or_else(String::new, |w| {
        format!("; least gain: {}, {:.2} times", w.0, w.1)
    });
    format!("index 10.0 with one copy, {index:.1} with {cores}{worst}")
}
