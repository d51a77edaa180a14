//! Workers are held between two bursts, so that those of another process can go on in their place
//! ([`hand_over`](crate::engine::hand_over)), or they themselves.

use std::io::{self, Write};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use fib::organisation::Reader;

use super::{LETTER_WAIT, Letters, Running, Workers};
use crate::user_plane::{HandedWorker, Worker};

/// What a worker is asked between two bursts.
#[derive(Debug)]
pub(super) enum Asked {
    /// What another process needs in its place.
    Describe(Sender<io::Result<HandedWorker>>),
    /// It leaves its rings alone from now on, and says so. It goes on when told; when nobody can
    /// tell it any more, the rings are another's.
    Hold(Sender<io::Result<()>>, Receiver<()>),
}

/// The box for it.
pub(super) type Question = Mutex<Option<Asked>>;

impl Letters {
    fn question(&self) -> Option<Asked> {
        let mut question = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        question.take()
    }

    /// The worker's side: answers. False when the rings are another's from now on.
    pub(super) fn answer<R: Reader>(&self, worker: &mut Worker<R>) -> bool {
        match self.question() {
            None => true,
            Some(Asked::Describe(answer)) => {
                // Who asked may have given up.
                let _heard = answer.send(worker.hand_over());
                true
            }
            Some(Asked::Hold(answer, goes_on)) => {
                worker.refresh_missed();
                worker.readers().for_each(Reader::offline);
                let _heard = answer.send(worker.leave());
                let goes_on = goes_on.recv().is_ok();
                worker.readers().for_each(Reader::online);
                goes_on
            }
        }
    }
}

impl Running {
    fn ask(&self, question: Asked) {
        let mut asked = (self.letters.asked.lock()).unwrap_or_else(PoisonError::into_inner);
        *asked = Some(question);
        drop(asked);
        self.letters.waiting.store(true, Ordering::Release);
        // A full pipe rings already; a worker that has ended answers nothing.
        let _rung = (&self.bell).write(&[1]);
    }
}

impl Workers {
    /// What another process needs to go on in their place. They go on.
    ///
    /// # Errors
    /// When none can, when one has ended, or does not answer.
    pub(in crate::engine) fn describe(&self) -> io::Result<Vec<HandedWorker>> {
        let asked = self.running.iter().map(|worker| {
            let (sender, answer) = channel();
            worker.ask(Asked::Describe(sender));
            answer
        });
        let asked: Vec<_> = asked.collect();
        asked.iter().map(answer).collect()
    }

    /// They leave their rings alone; until [`Workers::go_on`], or for good when they are stopped.
    ///
    /// # Errors
    /// As [`Workers::describe`]; they go on then.
    pub(in crate::engine) fn hold(&mut self) -> io::Result<()> {
        let asked = self.running.iter_mut().map(|worker| {
            let (sender, answer) = channel();
            let (tell, told) = channel();
            worker.held = Some(tell);
            worker.ask(Asked::Hold(sender, told));
            answer
        });
        let asked: Vec<_> = asked.collect();
        let held = asked.iter().try_for_each(answer);
        if held.is_err() {
            self.go_on();
        }
        held
    }

    /// Those that are held go on.
    pub(in crate::engine) fn go_on(&mut self) {
        for worker in &mut self.running {
            if let Some(held) = worker.held.take() {
                // One that has ended hears nothing.
                let _heard = held.send(());
            }
        }
    }
}

fn answer<T>(answer: &Receiver<io::Result<T>>) -> io::Result<T> {
    let said = answer.recv_timeout(LETTER_WAIT);
    said.unwrap_or_else(|_| Err(io::Error::other("a worker has ended or does not answer")))
}
