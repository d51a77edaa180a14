//! The smallest case that still differs.

use std::time::Duration;

use crate::Error;
use crate::case::Case;
use crate::simpler::simplest;
use crate::twins::Twins;

/// Frames that are tried alone, and frames that are made simpler.
const ALONE: usize = 3;

/// Leaves frames out, then commands, then parts of frames, as long as a frame still differs after a pause. `None`: it does
/// not differ again, so it came of the moment.
pub(crate) fn shrink(
    twins: &mut Twins,
    case: &Case,
    numbers: &[u16],
    pause: Duration,
) -> Result<Option<Case>, Error> {
    let mut differs = |candidate: &Case| {
        // After Ctrl-C it stays as it is.
        Ok::<bool, Error>(!host::interrupted() && twins.differs(candidate, pause)?)
    };
    // One of those that differ is most often enough; they may need others.
    let alone = numbers.iter().take(ALONE).map(std::slice::from_ref);
    let fewer = alone.chain([numbers]).map(|numbers| case.only(numbers));
    let tried = fewer.chain([case.clone()]);
    let mut found = None;
    for fewer in tried {
        if differs(&fewer)? {
            found = Some(fewer);
            break;
        }
    }
    let Some(mut small) = found else {
        return Ok(None);
    };
    let frames = small.frames.clone();
    small.frames = fewest(frames, |frames| {
        differs(&Case {
            frames: frames.to_vec(),
            ..small.clone()
        })
    })?;
    let commands = small.commands.clone();
    small.commands = fewest(commands, |commands| {
        differs(&Case {
            commands: commands.to_vec(),
            ..small.clone()
        })
    })?;
    for at in 0..small.frames.len().min(ALONE) {
        small.frames[at] = simplest(small.frames[at].clone(), |frame| {
            let mut candidate = small.clone();
            candidate.frames[at] = frame.to_vec();
            differs(&candidate)
        })?;
    }
    Ok(Some(small))
}

/// Drops halves, quarters and so on down to single items, as long as the rest is still wanted.
fn fewest<T: Clone>(
    mut items: Vec<T>,
    mut wanted: impl FnMut(&[T]) -> Result<bool, Error>,
) -> Result<Vec<T>, Error> {
    let mut size = items.len().div_ceil(2);
    while size > 0 && items.len() > 1 {
        let before = items.len();
        let mut at = 0;
        while at < items.len() && items.len() > 1 {
            let mut rest = items.clone();
            rest.drain(at..(at + size).min(items.len()));
            if wanted(&rest)? {
                items = rest;
            } else {
                at += size;
            }
        }
        // Single items are tried again when one went: it may have needed another.
        if size > 1 || before == items.len() {
            size /= 2;
        }
    }
    Ok(items)
}

#[cfg(test)]
#[path = "../tests/unit/shrink.rs"]
mod tests;
