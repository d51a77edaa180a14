//! A result to be read: the verdict, then blocks in reading order, then the environment it holds
//! in.

use crate::{Plot, Table};

/// One result, ready for [`html::render`](crate::html::render) and
/// [`terminal::render`](crate::terminal::render).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The heading of the page.
    pub title: String,
    /// What the reader must know if they read no further: plain sentences.
    pub verdict: Vec<String>,
    /// Facts about the machine and run, name and value, in the order they are shown.
    pub environment: Vec<(String, String)>,
    /// The body in reading order.
    pub blocks: Vec<Block>,
}

/// A piece of a [`Document`].
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A section heading.
    Heading(String),
    /// A paragraph of plain text.
    Text(String),
    /// Sentences that belong together, under a title.
    List {
        /// Shown above; empty for none.
        title: String,
        /// One sentence each, or a few.
        items: Vec<String>,
    },
    /// A table with its caption.
    Table(Table),
    /// A plot with its caption.
    Plot(Plot),
    /// What only a few readers want: folded on the page below its title, whole in print. The
    /// terminal leaves it out.
    Details {
        /// What is folded.
        title: String,
        /// Shown when it is opened.
        blocks: Vec<Block>,
    },
    /// Markup for the page only, taken as it is: the caller has escaped what needs it. The terminal
    /// shows nothing of it.
    Html(String),
}

impl Document {
    /// An empty document with a title.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            ..Self::default()
        }
    }

    /// Adds a sentence to the verdict.
    #[must_use]
    pub fn verdict(mut self, sentence: impl Into<String>) -> Self {
        self.verdict.push(sentence.into());
        self
    }

    /// Adds a block at the end.
    #[must_use]
    pub fn block(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    /// Adds a section heading at the end.
    #[must_use]
    pub fn heading(self, heading: impl Into<String>) -> Self {
        self.block(Block::Heading(heading.into()))
    }

    /// Adds a paragraph at the end.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.block(Block::Text(text.into()))
    }

    /// Adds blocks at the end, folded below `title`; nothing when there are none.
    #[must_use]
    pub fn details(self, title: impl Into<String>, blocks: Vec<Block>) -> Self {
        if blocks.is_empty() {
            return self;
        }
        self.block(Block::Details {
            title: title.into(),
            blocks,
        })
    }

    /// Sets the environment: name and value, in the order they are shown.
    #[must_use]
    pub fn environment(mut self, facts: Vec<(String, String)>) -> Self {
        self.environment = facts;
        self
    }
}

/// `text` with a capital at its beginning.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}
