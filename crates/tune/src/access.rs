//! Reading and writing settings.

use std::fs;
use std::io;
use std::path::PathBuf;

use host::card::{self, Coalescing, Queues, Rings};
use host::cores::parse_list;
use host::offload::{self, Offload};
use host::{CoreId, interrupts, namespace};

use crate::setting::{
    Setting, coalescing_text, cores_text, key_text, queues_text, rings_text, switch_text,
    table_text,
};

/// Bits of a word in the kernel's notation of core masks.
const MASK_WORD: u32 = 32;

/// What can read and write the settings of ports.
pub trait Access {
    /// The index of a port, by which it is told from a later one of its name.
    ///
    /// # Errors
    /// `ENODEV` when there is no such port.
    fn index(&self, port: &str) -> io::Result<u32>;

    /// The value of a setting.
    ///
    /// # Errors
    /// The kernel's: `NotFound` when there is no such queue or line.
    fn read(&self, port: &str, setting: Setting) -> io::Result<String>;

    /// Gives a setting a value that [`Access::read`] could say.
    ///
    /// # Errors
    /// Why the device refuses.
    fn write(&self, port: &str, setting: Setting, value: &str) -> io::Result<()>;

    /// The settings that a driver may forget when its queues change.
    fn of_queues(&self, port: &str) -> Vec<Setting>;
}

/// This machine.
#[derive(Clone, Copy, Debug)]
pub struct System;

impl Access for System {
    fn index(&self, port: &str) -> io::Result<u32> {
        namespace::index_of(port)
    }

    fn read(&self, port: &str, setting: Setting) -> io::Result<String> {
        Ok(match setting {
            Setting::Queues => queues_text(card::queues(port)?.0),
            Setting::Rings => rings_text(card::rings(port)?.0),
            Setting::Coalescing => coalescing_text(card::coalescing(port)?),
            Setting::Lro => switch_text(offload::receiving(port)?.joins_segments),
            Setting::Gro => switch_text(offload::is_on(port, Offload::GenericReceive)?),
            Setting::RssKey => key_text(&card::spreading(port)?.key),
            Setting::RssTable => table_text(&card::spreading(port)?.table),
            Setting::SendCores(_) | Setting::SteerCores(_) => {
                cores_text(&cores_of_mask(&read(port, setting)?)?)
            }
            Setting::NapiThreads | Setting::InterruptCores(_) | Setting::SendQueueLength => {
                read(port, setting)?
            }
        })
    }

    fn write(&self, port: &str, setting: Setting, value: &str) -> io::Result<()> {
        let number = |word| number_after(value, word);
        match setting {
            Setting::Queues => {
                let wanted = Queues {
                    receive: number("rx")?,
                    send: number("tx")?,
                    combined: number("combined")?,
                };
                card::set_queues(port, wanted)
            }
            Setting::Rings => {
                let wanted = Rings {
                    receive: number("rx")?,
                    send: number("tx")?,
                };
                card::set_rings(port, wanted)
            }
            Setting::Coalescing => {
                let wanted = Coalescing {
                    adaptive: number("adaptive")? != 0,
                    microseconds: number("usecs")?,
                    frames: number("frames")?,
                };
                card::set_coalescing(port, wanted)
            }
            Setting::Lro => offload::join_segments(port, value == "on"),
            Setting::Gro => offload::switch(port, Offload::GenericReceive, value == "on")
                .map_err(|error| cause(&error)),
            Setting::RssKey => card::set_key(port, &bytes_of(value)?),
            Setting::RssTable => set_table(port, value),
            Setting::SendCores(_) | Setting::SteerCores(_) => {
                let list = if value == "none" { "" } else { value };
                let cores = parse_list(list).map_err(|_| unreadable(value))?;
                fs::write(file(port, setting), mask_of_cores(&cores))
            }
            Setting::NapiThreads | Setting::InterruptCores(_) | Setting::SendQueueLength => {
                fs::write(file(port, setting), value)
            }
        }
    }

    fn of_queues(&self, port: &str) -> Vec<Setting> {
        let lines = interrupts::lines_of(port).into_iter();
        let lines = lines.map(|(line, _)| Setting::InterruptCores(line));
        let of_sending = (0..count(port, "tx-")).map(Setting::SendCores);
        let of_receiving = (0..count(port, "rx-")).map(Setting::SteerCores);
        let all = [Setting::RssTable].into_iter().chain(lines);
        all.chain(of_sending).chain(of_receiving).collect()
    }
}

/// How many queues of a kind `/sys` shows.
pub(crate) fn count(port: &str, kind: &str) -> u32 {
    let queues = fs::read_dir(format!("/sys/class/net/{port}/queues"));
    let names = queues.into_iter().flatten().flatten();
    let of_kind = names.filter(|entry| entry.file_name().to_string_lossy().starts_with(kind));
    of_kind.count() as u32
}

/// The file of a setting that has one.
fn file(port: &str, setting: Setting) -> PathBuf {
    let own = |name: String| PathBuf::from(format!("/sys/class/net/{port}/{name}"));
    match setting {
        Setting::InterruptCores(line) => format!("/proc/irq/{line}/smp_affinity_list").into(),
        Setting::SendCores(queue) => own(format!("queues/tx-{queue}/xps_cpus")),
        Setting::SteerCores(queue) => own(format!("queues/rx-{queue}/rps_cpus")),
        Setting::NapiThreads => own("threaded".to_owned()),
        Setting::SendQueueLength => own("tx_queue_len".to_owned()),
        other => own(other.to_string()),
    }
}

fn read(port: &str, setting: Setting) -> io::Result<String> {
    Ok(fs::read_to_string(file(port, setting))?.trim().to_owned())
}

fn set_table(port: &str, value: &str) -> io::Result<()> {
    let now = card::spreading(port)?.table.len();
    let table: Vec<u32> = match value.strip_prefix("equal ") {
        // The driver's own table follows the queues when their number changes.
        Some(queues) if queues == card::receive_queues(port)?.to_string() => Vec::new(),
        Some(queues) => {
            let queues: u32 = queues.parse().map_err(|_| unreadable(value))?;
            (0..queues).cycle().take(now).collect()
        }
        None => {
            let words = value.split(' ').map(str::parse);
            words
                .collect::<Result<_, _>>()
                .map_err(|_| unreadable(value))?
        }
    };
    card::set_table(port, &table)
}

/// The number after a word: 4 after `tx` in `rx 0 tx 4`.
fn number_after(value: &str, word: &str) -> io::Result<u32> {
    let mut words = value.split(' ').skip_while(|found| *found != word);
    let number = words.nth(1).and_then(|number| number.parse().ok());
    number.ok_or_else(|| unreadable(value))
}

fn bytes_of(hexadecimal: &str) -> io::Result<Vec<u8>> {
    let byte = |at| {
        hexadecimal
            .get(at..at + 2)
            .and_then(|two| u8::from_str_radix(two, 16).ok())
    };
    let bytes = (0..hexadecimal.len()).step_by(2).map(byte);
    bytes
        .collect::<Option<_>>()
        .ok_or_else(|| unreadable(hexadecimal))
}

/// Cores in the kernel's notation of masks: `3`, `00000001,00000000`.
fn cores_of_mask(mask: &str) -> io::Result<Vec<CoreId>> {
    let mut cores = Vec::new();
    for (place, word) in (0..).zip(mask.split(',').rev()) {
        let word = u32::from_str_radix(word, 16).map_err(|_| unreadable(mask))?;
        let bits = (0..MASK_WORD).filter(|bit| word >> bit & 1 != 0);
        cores.extend(bits.map(|bit| CoreId(place * MASK_WORD + bit)));
    }
    Ok(cores)
}

fn mask_of_cores(cores: &[CoreId]) -> String {
    let last = cores.iter().max().map_or(0, |core| core.0 / MASK_WORD);
    let word = |place| {
        let own = cores.iter().filter(|core| core.0 / MASK_WORD == place);
        own.fold(0_u32, |word, core| word | 1 << (core.0 % MASK_WORD))
    };
    let words: Vec<String> = (0..=last)
        .rev()
        .map(|place| format!("{:08x}", word(place)))
        .collect();
    words.join(",")
}

fn unreadable(value: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("{value:?} is no value of this setting"),
    )
}

/// What the kernel said, without what was being done.
fn cause(error: &host::namespace::Error) -> io::Error {
    match error {
        host::namespace::Error::Setting { source, .. } => match source.raw_os_error() {
            Some(number) => io::Error::from_raw_os_error(number),
            None => io::Error::other(source.to_string()),
        },
        other => io::Error::other(other.to_string()),
    }
}

#[cfg(test)]
#[path = "../tests/unit/access.rs"]
mod tests;
