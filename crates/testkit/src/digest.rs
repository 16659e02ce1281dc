//! SHA-256 in hexadecimal, as used in the corpus.

use crate::pixels::Pixels;
use sha2::{Digest, Sha256};

/// Returns the digest of bytes.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Pixels {
    /// Returns the digest of the little-endian samples.
    pub fn sha256(&self) -> String {
        sha256(&self.little_endian())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_digest_of_abc_is_the_standard_one() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(super::sha256(b"abc"), expected);
    }
}
