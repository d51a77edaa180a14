//! Numbers of variable length: seven bits a byte, the lowest first, the top bit on all but the last
//! byte. The trace format, Perfetto's and the page's data are made of them.

/// Appends `value`.
pub(crate) fn put(out: &mut Vec<u8>, value: impl Into<u64>) {
    let mut value = value.into();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends the number of `bytes`, then the bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
