//! Answers people: where it listens, and a piece of an answer in each turn.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Instance;
use crate::engine::{Counters, EngineError};
use crate::management_plane::pieces::Pieces;
use crate::management_plane::server::{Asked, Place, Question};
use crate::management_plane::{answers, capture, explain, forms, metrics, node};

/// How often the counters are read for metrics at most.
const METRICS_PAUSE: Duration = Duration::from_millis(100);

impl Instance {
    /// Listens where it does not yet. What cannot be had is tried again, and forwarding does not
    /// wait for it.
    pub(super) fn serve(&mut self) {
        let (server, troubles) = (&mut self.server, self.follower.troubles());
        self.unserved.retain(|place| {
            let (what, result) = match place {
                Place::Control(_) => (
                    "answering on the control socket",
                    "it is tried again; corelane show, top and verify do not reach this router \
                     until then: look at run-directory",
                ),
                Place::Metrics(..) => (
                    "serving the metrics",
                    "it is tried again; end what holds the address (ss -ltnp), or give another: \
                     --metrics",
                ),
            };
            if troubles.waits(what) {
                return true;
            }
            let failed = server.listen(place).err();
            match &failed {
                None => troubles.over(what),
                Some(error) => troubles.add(what, error, result),
            }
            failed.is_some()
        });
    }

    /// Answers, or begins to.
    pub(super) fn answer(&mut self, asked: Asked) {
        let begun = match asked.question {
            Question::Show(words) if words == ["verify"] => {
                return self.asked_to_verify(asked.answer);
            }
            Question::Show(words) if words == ["hitters"] => {
                Ok(answers::hitters(self.hitters(Instant::now())).into())
            }
            Question::Show(words) if words.first().is_some_and(|word| word == "record") => {
                self.recording(&words[1..]).map(Pieces::from)
            }
            Question::Show(words) if words == ["health"] => Ok(self.health().into()),
            Question::Show(words) if words == ["drain"] || words == ["undrain"] => {
                self.readiness.set_draining(words == ["drain"]);
                Ok(self.health().into())
            }
            Question::Show(words) if words.first().is_some_and(|word| word == "explain") => {
                self.explain(&words[1..].join(" "))
            }
            Question::Show(words) if words.first().is_some_and(|word| word == capture::WAY) => {
                capture::way(&self.follower, &words[1..].join(" ")).map(Pieces::from)
            }
            Question::Show(words) => self.show(&words),
            Question::TakeOver(words, stream) => return self.offer(stream, &words),
            Question::Capture(words, stream) => return self.capture(stream, &words),
            Question::Frames(reason) => {
                Ok(forms::line(&self.look_at(reason, Instant::now())).into())
            }
            Question::Health => Ok(self.health().into()),
            Question::Metrics(format) => Ok(match self.counters_for_metrics() {
                Ok(counters) => metrics::page(
                    &self.follower,
                    &counters,
                    self.fitness(),
                    self.sampling.counts(),
                    format,
                ),
                Err(error) => format!("# {error}\n# EOF\n").into(),
            }),
            Question::Node => self.node().map(Pieces::from),
            Question::Table(asked) => Ok(node::about(asked)),
            Question::Ways(asked) => Ok(capture::ways(&self.follower, &asked).into()),
            Question::More(rest) => Ok(rest),
        };
        let pieces = begun.unwrap_or_else(|error| answers::failed(error).into());
        // Who asked may have gone away.
        let _ = asked.answer.try_send(pieces.piece(&self.follower));
    }

    fn show(&self, words: &[String]) -> Result<Pieces, EngineError> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        answers::show(&words, &self.follower, &self.kept())
    }

    fn explain(&mut self, question: &str) -> Result<Pieces, EngineError> {
        let kept = self.kept();
        explain::explain(&mut self.follower, &kept, question).map(Pieces::from)
    }

    /// Why ports or families stay with the kernel.
    pub(super) fn kept(&self) -> Vec<String> {
        let engine = self.follower.engine();
        let failed = engine.failed_ports().into_iter();
        let failed = failed.map(|(port, error)| format!("port {port}: {error}"));
        let findings = self.findings.iter().map(|finding| finding.what.clone());
        findings.chain(engine.resting()).chain(failed).collect()
    }

    fn node(&mut self) -> Result<String, EngineError> {
        let counters = self.counters_for_metrics()?;
        let name = self.config.instance.to_string();
        let (fitness, reasons) = (self.fitness(), self.readiness.reasons());
        Ok(node::node(
            &self.follower,
            &counters,
            name,
            fitness,
            reasons,
        ))
    }

    /// Those of every core take a while to read, so who asks more often than [`METRICS_PAUSE`] gets
    /// the same again.
    pub(super) fn counters_for_metrics(&mut self) -> Result<Arc<Counters>, EngineError> {
        if let Some((read, counters)) = &self.metrics
            && read.elapsed() < METRICS_PAUSE
        {
            return Ok(Arc::clone(counters));
        }
        let counters = Arc::new(self.follower.engine().counters()?);
        self.metrics = Some((Instant::now(), Arc::clone(&counters)));
        Ok(counters)
    }
}
