//! Bytes of any kind as messages of netlink that are nearly right: kinds and attributes that
//! somebody reads, with lengths and contents that nobody sends.

use host::netlink::append;

/// Reads numbers off the beginning of some bytes; zeros when there are none left.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn next(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or_default()
    }

    fn some(&mut self, length: usize) -> &'a [u8] {
        let (some, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        some
    }
}

/// Turns all of them into messages of these kinds, each with the length of its fixed header. The
/// first byte says whether they are taken as they are.
pub(crate) fn messages(bytes: &[u8], kinds: &[(u16, usize)]) -> Vec<u8> {
    let mut bytes = Bytes(bytes);
    if bytes.next() == 0 {
        return bytes.0.to_vec();
    }
    let mut all = Vec::new();
    while !bytes.0.is_empty() {
        let (kind, header) = kinds[usize::from(bytes.next()) % kinds.len()];
        let flags = u16::from(bytes.next()) << 8;
        let mut body = bytes.some(header).to_vec();
        body.resize(header, 0);
        for _ in 0..bytes.next() % 8 {
            attribute(&mut bytes, &mut body, 3);
        }
        // One in 16 says that it is longer or shorter than it is.
        let change = bytes.next();
        let wrong = if change % 16 == 1 { change / 16 } else { 0 };
        let length = (16 + body.len()) as u32 + u32::from(wrong) * 4;
        all.extend_from_slice(&length.wrapping_sub(u32::from(wrong % 2) * 64).to_ne_bytes());
        all.extend_from_slice(&kind.to_ne_bytes());
        all.extend_from_slice(&flags.to_ne_bytes());
        all.extend_from_slice(&[0; 8]);
        all.extend_from_slice(&body);
        all.resize(all.len().next_multiple_of(4), 0);
    }
    all
}

fn attribute(bytes: &mut Bytes<'_>, into: &mut Vec<u8>, depth: u32) {
    let (kind, length) = (u16::from(bytes.next() % 64), bytes.next());
    if length & 0x80 != 0 && depth > 0 {
        let mut inside = Vec::new();
        for _ in 0..length % 4 {
            attribute(bytes, &mut inside, depth - 1);
        }
        append(into, kind, &inside);
    } else {
        append(into, kind, bytes.some(usize::from(length % 33)));
    }
}
