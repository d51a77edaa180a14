//! One stream of the load: the frames of the flows that one user plane carries, and the sink that
//! they end in.

use std::time::Duration;

use bpf::attach::{Attachment, Request};
use fastpath::generate::{Frames, Generator};
use fastpath::sink::{Checks, Sink};
use host::Namespace;

use super::few::{FEW, FewFrames};
use crate::error::Error;
use crate::site::{Pair, Site};

pub(super) struct Stream {
    pub(super) number: u16,
    /// Share of the load's flows, and so of its frames.
    pub(super) share: f64,
    /// Of it, parts of frames that wait for the next turn.
    pub(super) carry: f64,
    pub(super) sink: Sink,
    generator: Generator,
    few: FewFrames,
    /// Which of the two sends in this trial.
    are_few: bool,
    _parked: Attachment,
    _attic: Namespace,
}

impl Stream {
    /// A stream of `frames` across `pair`, of `share` of the load's flows. Sinks tell `streams`
    /// streams apart.
    ///
    /// # Errors
    /// [`Error`].
    pub(super) fn new(
        site: &Site,
        pair: &Pair,
        frames: &Frames,
        share: f64,
        streams: usize,
    ) -> Result<Self, Error> {
        let (index, interface) = (pair.input.a.index, pair.input.a.interface.as_str());
        let mut generator = site.sender.enter(|| Generator::new(index, frames))??;
        let few = site.sender.enter(|| {
            let destinations = frames.destinations.len();
            let length = frames.lengths[0];
            FewFrames::like(
                &mut generator,
                destinations,
                length,
                frames.stream,
                interface,
            )
        })??;
        let mut sink = Sink::new(Checks {
            streams: streams as u32,
            ..Checks::ALL
        })?;
        let output = pair.output.a.interface.as_str();
        site.receiver
            .enter(|| sink.attach(output, Request::Any))??;
        // An interface has room for one program, so each generator has an attic of its own.
        let attic = Namespace::new(&format!("attic{}", frames.stream))?;
        let parked = attic.enter(|| generator.park("lo"))??;
        Ok(Self {
            number: frames.stream,
            share,
            carry: 0.0,
            sink,
            generator,
            few,
            are_few: false,
            _parked: parked,
            _attic: attic,
        })
    }

    /// A trial begins at `departures` (ns of the monotonic clock) that offers `rate` frames a
    /// second in all, those of a `tick` at once.
    ///
    /// # Errors
    /// [`Error::Fastpath`].
    pub(super) fn begin(
        &mut self,
        departures: u64,
        rate: f64,
        tick: Duration,
    ) -> Result<(), Error> {
        self.are_few = rate * self.share * tick.as_secs_f64() <= FEW;
        Ok(self.sink.restart(departures)?)
    }

    /// Sends `count` frames; says how many were made: fewer only when a signal came.
    ///
    /// # Errors
    /// [`Error`].
    pub(super) fn send(&mut self, count: u32) -> Result<u32, Error> {
        if self.are_few {
            self.few.send(count)?;
            Ok(count)
        } else {
            Ok(self.generator.send(count)?)
        }
    }
}
