//! The page's script without what only readers of its source need: indentation, empty lines, and
//! comments on lines of their own. It is made when the program is compiled.

/// One script: each of its files may use what the others declare.
const SOURCE: &str = concat!(
    include_str!("state.js"),
    include_str!("second.js"),
    include_str!("course.js"),
    include_str!("router.js"),
    include_str!("page.js"),
);
const PARTS: ([u8; SOURCE.len()], usize) = squeeze(SOURCE);
static BYTES: [u8; PARTS.1] = {
    let (mut bytes, mut at) = ([0; PARTS.1], 0);
    while at < bytes.len() {
        bytes[at] = PARTS.0[at];
        at += 1;
    }
    bytes
};

/// The script as browsers get it.
pub(super) static SCRIPT: &str = match std::str::from_utf8(&BYTES) {
    Ok(script) => script,
    Err(_) => panic!("whole lines of text are text"),
};

/// What is left of `text`, in front, and how many bytes that is.
pub(super) const fn squeeze<const N: usize>(text: &str) -> ([u8; N], usize) {
    let text = text.as_bytes();
    let (mut left, mut length) = ([0; N], 0);
    let (mut at, mut in_comment) = (0, false);
    while at < text.len() {
        let mut start = at;
        while at < text.len() && text[at] != b'\n' {
            at += 1;
        }
        let end = at;
        at += 1;
        while start < end && text[start] == b' ' {
            start += 1;
        }
        let begins = end - start > 1 && text[start] == b'/';
        let is_block = in_comment || begins && text[start + 1] == b'*';
        // Where a comment ends, and whether anything follows.
        let mut ends = start;
        while is_block
            && ends < end
            && !(ends > start && text[ends - 1] == b'*' && text[ends] == b'/')
        {
            ends += 1;
        }
        in_comment = is_block && ends >= end;
        let is_comment = is_block && ends + 1 >= end || begins && text[start + 1] == b'/';
        if is_comment || start == end {
            continue;
        }
        while start < end {
            left[length] = text[start];
            (start, length) = (start + 1, length + 1);
        }
        left[length] = b'\n';
        length += 1;
    }
    (left, length)
}

#[cfg(test)]
#[path = "../../../tests/unit/squeezed.rs"]
mod tests;
