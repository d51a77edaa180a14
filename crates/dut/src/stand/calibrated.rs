//! The calibrated device: in memory, without root, and what is found is what was set.

use report::quantity;
use tester::link::calibrated::{Calibrated as Link, Settings};
use tester::link::wire::Wire;
use tester::rig::{Rig, RigError};

use super::Stand;
use super::rigs::Maker;
use crate::error::Error;

struct Calibrated {
    settings: Settings,
    maker: Maker,
}

/// A device that does what the settings say.
pub fn open(maker: Maker, settings: Settings) -> Box<dyn Stand> {
    Box::new(Calibrated { settings, maker })
}

impl Stand for Calibrated {
    fn rig(&self) -> Result<Box<dyn Rig>, RigError> {
        let link = Link::new(self.settings.clone(), self.maker.ports);
        self.maker.in_memory(link)
    }

    fn wire(&self) -> Result<Box<dyn Rig>, RigError> {
        self.maker.in_memory(Wire::new(self.maker.ports))
    }

    fn facts(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// Reads `name=value` settings, as written on the command line; what is not named is perfect.
///
/// # Errors
/// A name that is none, or a value that is none of its kind.
pub fn settings(words: &[String]) -> Result<Settings, Error> {
    let mut settings = Settings::default();
    for word in words {
        let (name, value) = word
            .split_once('=')
            .ok_or_else(|| format!("--calibrated {word}: write name=value"))?;
        let number = || {
            quantity::any(value).ok_or_else(|| {
                format!("--calibrated {word}: write a number with its unit, as 500kpps, 20us, 0.1%")
            })
        };
        match name {
            "rate" => settings.rate = number()?,
            "buffer" => settings.buffer = number()? as u64,
            "burst" => settings.burst = number()? as u64,
            "delay" => settings.delay_ns = number()? as u64,
            "loss" => settings.loss = number()?,
            "duplicate" => settings.duplicate = number()?,
            "corrupt" => settings.corrupt = number()?,
            "misdirect" => settings.misdirect = number()?,
            "reorder" => settings.reorder = number()?,
            "hold" => settings.hold_ns = number()? as u64,
            _ => {
                return Err(format!(
                    "--calibrated {word}: there are rate, buffer, burst, delay, loss, duplicate, \
                     corrupt, misdirect, reorder, hold"
                )
                .into());
            }
        }
    }
    if settings.rate <= 0.0 {
        return Err("--calibrated rate: give frames/s above 0".into());
    }
    Ok(settings)
}

#[cfg(test)]
#[path = "../../tests/unit/calibrated.rs"]
mod tests;
