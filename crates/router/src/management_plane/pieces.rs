//! An answer that is made a piece at a time. The control plane makes one piece a turn, however long
//! the answer is, and keeps nothing of it: whoever asked holds what is still to be said, and comes
//! back for the next piece when the one before has been read.
//!
//! What changes meanwhile is in the answer or not. What was there all the time is in it once.

use std::collections::VecDeque;
use std::fmt;

use crate::control_plane::follower::Follower;

/// Steps of one piece, each of which says a row at most.
pub const STEPS: usize = 512;

/// Adds a little to the text; false when it has nothing left to say.
pub(super) type Part = Box<dyn FnMut(&Follower, &mut String) -> bool + Send>;

/// A step for each key, which says what `row` says of it.
pub(super) fn each<K>(
    keys: impl IntoIterator<Item = K, IntoIter: Send + 'static>,
    mut row: impl FnMut(&Follower, K, &mut String) + Send + 'static,
) -> Part {
    let mut keys = keys.into_iter();
    Box::new(move |follower, all| keys.next().map(|key| row(follower, key, all)).is_some())
}

/// What is still to be said.
#[derive(Default)]
pub struct Pieces(VecDeque<Part>);

impl fmt::Debug for Pieces {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} parts", self.0.len())
    }
}

impl From<String> for Pieces {
    fn from(text: String) -> Self {
        let mut all = Self::default();
        all.text(text);
        all
    }
}

impl Pieces {
    pub(super) fn part(&mut self, part: Part) {
        self.0.push_back(part);
    }

    pub(super) fn text(&mut self, text: String) {
        self.part(Box::new(move |_, all| {
            all.push_str(&text);
            false
        }));
    }

    /// The next piece.
    pub fn piece(mut self, follower: &Follower) -> Piece {
        let mut text = String::new();
        for _ in 0..STEPS {
            let Some(part) = self.0.front_mut() else {
                break;
            };
            if !part(follower, &mut text) {
                self.0.pop_front();
            }
        }
        let rest = (!self.0.is_empty()).then_some(self);
        Piece { text, rest }
    }
}

/// A piece of an answer, and what is still to be said.
#[derive(Debug)]
pub struct Piece {
    /// As text.
    pub text: String,
    /// If there is more.
    pub rest: Option<Pieces>,
}

impl From<String> for Piece {
    fn from(text: String) -> Self {
        Self { text, rest: None }
    }
}
