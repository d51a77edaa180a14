//! A command that runs again and again in the background while another is measured.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::keeper::{Keeper, KeeperError, Spec};

/// A running background command; dropping it ends the command and waits until it is gone.
pub struct Background {
    stop: Arc<AtomicBool>,
    keeper: Arc<AtomicI32>,
    thread: Option<JoinHandle<Result<u64, KeeperError>>>,
}

impl Background {
    /// Starts `spec` and, whenever it ends, starts it again.
    ///
    /// # Errors
    /// When the keeper cannot be started.
    pub fn start(spec: &Spec, interrupted: fn() -> bool) -> Result<Self, KeeperError> {
        let (stop, keeper) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicI32::new(0)),
        );
        let (spec, theirs_stop, theirs_keeper) =
            (spec.clone(), Arc::clone(&stop), Arc::clone(&keeper));
        let (started, is_started) = mpsc::channel();
        // The keeper lives and dies with the thread that made it, so the thread makes it.
        let thread = thread::spawn(move || {
            let mut keeper =
                match Keeper::start(&spec, interrupted).and_then(|mut k| k.begin().map(|()| k)) {
                    Ok(keeper) => keeper,
                    Err(error) => {
                        drop(started);
                        return Err(error);
                    }
                };
            theirs_keeper.store(keeper.pid(), Ordering::Release);
            let _ = started.send(());
            let mut runs = 0;
            loop {
                keeper.finish()?;
                runs += 1;
                if theirs_stop.load(Ordering::Acquire) {
                    return Ok(runs);
                }
                keeper.begin()?;
            }
        });
        let mut background = Self {
            stop,
            keeper,
            thread: Some(thread),
        };
        if is_started.recv().is_err()
            && let Some(Ok(Err(error))) = background.thread.take().map(JoinHandle::join)
        {
            return Err(error);
        }
        Ok(background)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        let Some(thread) = self.thread.take() else {
            return;
        };
        // The order to cut may arrive between two runs and is forgotten then, so it is given until
        // it is heard.
        while !thread.is_finished() {
            // The thread reaps its keeper only when it ends: until then the number is the keeper's.
            if let Some(pid) = Pid::from_raw(self.keeper.load(Ordering::Acquire)) {
                let _ = kill_process(pid, Signal::USR1);
            }
            thread::sleep(Duration::from_millis(2));
        }
        let _ = thread.join();
    }
}
