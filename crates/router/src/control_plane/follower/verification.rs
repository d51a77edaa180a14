//! The engine compared with the kernel, a slice of answers at a time ([`crate::control_plane::verify`]).

use std::io;
use std::time::Duration;

use super::{Checking, Follower};
use crate::control_plane::verify::{Check, Verification};

impl Follower {
    /// Begins to compare the engine with the kernel, unless that is under way already.
    ///
    /// # Errors
    /// When the system has no thread for it.
    pub fn begin_verification(&mut self) -> io::Result<()> {
        if self.check.is_none() {
            self.check = Some(Check::begin(&self.mirror)?);
        }
        Ok(())
    }

    /// What the comparison under way, if one, needs next.
    pub fn checking(&self) -> Checking {
        match &self.check {
            None => Checking::No,
            Some(check) if check.is_waiting() => Checking::Waiting,
            Some(_) => Checking::Comparing,
        }
    }

    /// Takes in what was announced, then compares the next slice of answers. Returns the result at
    /// the end.
    ///
    /// # Errors
    /// When the kernel could not be asked. The comparison is over then.
    pub fn advance_verification(&mut self) -> io::Result<Option<Verification>> {
        self.follow();
        let Some(check) = &mut self.check else {
            return Ok(None);
        };
        let result = check.advance(&self.mirror, &*self.engine);
        if !matches!(result, Ok(None)) {
            self.check = None;
        }
        let result = result?;
        if result.is_some() {
            self.verified.clone_from(&result);
        }
        Ok(result)
    }

    /// Compares the engine with the kernel, from beginning to end.
    ///
    /// # Errors
    /// When the kernel could not be asked.
    pub fn verify(&mut self) -> io::Result<Verification> {
        self.check = None;
        self.begin_verification()?;
        loop {
            if let Some(result) = self.advance_verification()? {
                return Ok(result);
            }
            if self.checking() == Checking::Waiting {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// The latest comparison.
    pub fn verified(&self) -> Option<&Verification> {
        self.verified.as_ref()
    }
}
