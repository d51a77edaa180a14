//! External Data Representation (RFC 4506), as much as sFlow needs: numbers of 4 and 8 bytes, opaque
//! bytes padded to 4, and structures that say their length in front.

use std::net::IpAddr;

/// What is being written.
#[derive(Debug, Default)]
pub(super) struct Xdr(Vec<u8>);

impl Xdr {
    pub(super) fn number(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_be_bytes());
    }

    pub(super) fn long(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_be_bytes());
    }

    /// Bytes, with their number in front.
    pub(super) fn opaque(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u32);
        self.0.extend_from_slice(bytes);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    /// The kind of address, 1 or 2, and the address; 0 when it is not known.
    pub(super) fn address(&mut self, address: Option<IpAddr>) {
        match address {
            None => self.number(0),
            Some(IpAddr::V4(address)) => {
                self.number(1);
                self.0.extend_from_slice(&address.octets());
            }
            Some(IpAddr::V6(address)) => {
                self.number(2);
                self.0.extend_from_slice(&address.octets());
            }
        }
    }

    /// A structure of a format: both are said in front of it, with its length.
    pub(super) fn structure(&mut self, format: u32, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.number(format);
        self.opaque(&inner.0);
    }

    /// Adds what was written elsewhere.
    pub(super) fn append(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
#[path = "../../tests/unit/xdr.rs"]
mod tests;
