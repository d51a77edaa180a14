//! The terminal while something is watched on it: a screen of its own, left as it was found however
//! the view ends.

use std::io::{self, IsTerminal, Write};

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr,
};

/// The other screen, without a cursor; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
/// To the upper left corner; clear the rest of the line; clear the rest of the screen.
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";
/// When the terminal does not say how large it is.
const USUAL: (usize, usize) = (80, 24);

/// A screen; dropping it gives the terminal back.
pub(crate) struct Screen {
    /// How standard input was, when it is a terminal.
    keyboard: Option<Termios>,
    colour: bool,
}

impl Screen {
    /// Takes the terminal.
    pub(crate) fn open() -> io::Result<Self> {
        let keyboard = if io::stdin().is_terminal() {
            let before = tcgetattr(io::stdin())?;
            let mut keys = before.clone();
            // Keys come one by one, unseen, and reading does not wait. Ctrl-C stays a signal.
            keys.local_modes
                .remove(LocalModes::ICANON | LocalModes::ECHO);
            keys.special_codes[SpecialCodeIndex::VMIN] = 0;
            keys.special_codes[SpecialCodeIndex::VTIME] = 0;
            tcsetattr(io::stdin(), OptionalActions::Now, &keys)?;
            Some(before)
        } else {
            None
        };
        let screen = Self {
            keyboard,
            colour: report::progress::colour_allowed(),
        };
        print(ENTER)?;
        Ok(screen)
    }

    /// Shows a text: as much of it as fits.
    pub(crate) fn draw(&self, text: &str) -> io::Result<()> {
        // Some terminals say 0 when they do not know.
        let size = tcgetwinsize(io::stdout())
            .ok()
            .filter(|size| size.ws_col > 0 && size.ws_row > 0)
            .map_or(USUAL, |size| (size.ws_col.into(), size.ws_row.into()));
        print(&frame(text, size, self.colour))
    }

    /// Was q pressed since the last question?
    pub(crate) fn is_quit_pressed(&self) -> io::Result<bool> {
        if self.keyboard.is_none() {
            return Ok(false);
        }
        let mut keys = [0; 16];
        let count = rustix::io::read(io::stdin(), &mut keys)?;
        Ok(keys[..count].iter().any(|key| matches!(key, b'q' | b'Q')))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing given back.
        let _ = print(LEAVE);
        if let Some(before) = &self.keyboard {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// A text as one picture of `width` by `height`, drawn over the one before without a flicker. With
/// colour, a line above a rule is bold, and what is wrong is red.
fn frame(text: &str, (width, height): (usize, usize), colour: bool) -> String {
    let lines: Vec<&str> = text.lines().take(height.saturating_sub(1)).collect();
    let mut out = String::from(HOME);
    for (at, line) in lines.iter().enumerate() {
        let cut: String = line.chars().take(width).collect();
        let heads = lines
            .get(at + 1)
            .is_some_and(|next| next.starts_with("---"));
        let wrong = line.contains("DIFFERENT") || line.starts_with("left to the kernel");
        let style = match (colour, heads, wrong) {
            (true, true, _) => "\x1b[1m",
            (true, _, true) => "\x1b[31m",
            _ => "",
        };
        let plain = if style.is_empty() { "" } else { "\x1b[0m" };
        out.extend([style, &cut, plain, CLEAR_LINE, "\r\n"]);
    }
    out.push_str(CLEAR_BELOW);
    out
}

#[cfg(test)]
#[path = "../../tests/unit/screen.rs"]
mod tests;
