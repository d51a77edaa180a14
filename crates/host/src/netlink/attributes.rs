//! Attributes of netlink messages (`struct nlattr`): type, length, payload, padded to four bytes.

/// `NLA_F_NESTED` and `NLA_F_NET_BYTEORDER` are no part of the type.
const TYPE_MASK: u16 = 0x3FFF;

/// Type and payload of the attributes in a buffer; stops at the first that does not fit.
pub fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let header = rest.first_chunk::<4>()?;
        let length = usize::from(short(header));
        let payload = rest.get(4..length)?;
        let kind = short(&header[2..]) & TYPE_MASK;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, payload))
    })
}

/// The first four bytes as a number; 0 when there are fewer.
pub fn number(payload: &[u8]) -> u32 {
    payload
        .first_chunk()
        .map_or(0, |bytes| u32::from_ne_bytes(*bytes))
}

/// The first two bytes as a number; 0 when there are fewer.
pub fn short(payload: &[u8]) -> u16 {
    payload
        .first_chunk()
        .map_or(0, |bytes| u16::from_ne_bytes(*bytes))
}

/// Text up to the first NUL.
pub fn text(payload: &[u8]) -> String {
    let text = payload.split(|byte| *byte == 0).next();
    String::from_utf8_lossy(text.unwrap_or_default()).into_owned()
}

/// Writes one attribute.
pub fn append(buffer: &mut Vec<u8>, kind: u16, payload: &[u8]) {
    let length = (4 + payload.len()) as u16;
    buffer.extend_from_slice(&length.to_ne_bytes());
    buffer.extend_from_slice(&kind.to_ne_bytes());
    buffer.extend_from_slice(payload);
    buffer.resize(buffer.len().next_multiple_of(4), 0);
}

#[cfg(test)]
#[path = "../../tests/unit/attributes.rs"]
mod tests;
