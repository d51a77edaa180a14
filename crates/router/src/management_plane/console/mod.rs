//! The console: one page that shows a running router, served beside the metrics.
//!
//! ```text
//!  control plane's thread  ->  history, a point each second   ->  viewers, a thread each (server-sent events)
//!                                                             <-  where does this address go, who sends most
//! ```
//!
//! It is read-only, and loads nothing from elsewhere. What the page asks beside the history needs a
//! header that no other site's page can send, and any answer needs a host name that is no one else's, so
//! no page of another site reads or does anything here. Beyond loopback everything but the empty page
//! needs the token. Viewers read the history; only a point each second costs the control plane anything.

mod frames;
pub(crate) mod history;
mod page;
mod serve;
mod squeezed;

use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use self::frames::{Frame, Raw};
use self::history::History;
pub use self::history::Point;
pub use self::page::replay;
pub(super) use self::serve::answer;

/// Viewers at once: the rest of the connections is for whoever reads metrics.
const VIEWERS: usize = 8;

/// What viewers are answered from.
#[derive(Debug, Clone, Default)]
pub struct Console {
    history: Arc<Mutex<History>>,
    /// Without it nobody is told anything; empty: nobody needs one.
    token: String,
    /// Consoles of other routers.
    peers: Arc<[String]>,
    viewers: Arc<AtomicUsize>,
}

impl Console {
    /// One that tells those who have the token; everybody when it is empty. `peers`: the consoles of
    /// other routers, which it leads to.
    pub fn new(token: String, peers: &[String]) -> Self {
        Self {
            token,
            peers: peers.into(),
            ..Self::default()
        }
    }

    /// The history; nobody ends while holding it.
    pub(crate) fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is this the token? Takes as long for a token that begins right as for any.
    fn admits(&self, token: &str) -> bool {
        let differs = |(one, other): (u8, u8)| one ^ other;
        let (ours, theirs) = (self.token.bytes(), token.bytes());
        self.token.is_empty()
            || (ours.len() == theirs.len()
                && ours.zip(theirs).map(differs).fold(0, |all, one| all | one) == 0)
    }

    /// A place among the viewers, if one is free.
    fn view(&self) -> Option<Viewer> {
        let viewer = Viewer(Arc::clone(&self.viewers));
        // Given back when it is dropped, also where there is none.
        (viewer.0.fetch_add(1, Ordering::Relaxed) < VIEWERS).then_some(viewer)
    }
}

/// A place among the viewers.
struct Viewer(Arc<AtomicUsize>);

impl Drop for Viewer {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Can a name that a client uses for this host be no other site's? An address is, and `localhost`.
fn is_ours(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost" || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
#[path = "../../../tests/unit/console.rs"]
mod tests;
