//! Names and numbers that nobody chose: uids, suffixes of generated names, tokens. All come from one seeded source, so that a
//! simulation can be played again.

use std::sync::{Mutex, PoisonError};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Letters of generated names: without vowels and look-alikes, so that no words appear.
const SUFFIX: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// A seeded source of ids.
#[derive(Debug)]
pub struct Entropy(Mutex<StdRng>);

impl Entropy {
    /// The same seed gives the same ids in the same order.
    pub fn seeded(seed: u64) -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(seed)))
    }

    /// Seeded by the operating system.
    pub fn random() -> Self {
        Self(Mutex::new(rand::make_rng()))
    }

    fn bytes<const N: usize>(&self) -> [u8; N] {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).random()
    }

    /// A uid in the form of a random UUID.
    pub fn uid(&self) -> String {
        let mut bytes: [u8; 16] = self.bytes();
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let mut uid = hex(&bytes);
        for dash in [20, 16, 12, 8] {
            uid.insert(dash, '-');
        }
        uid
    }

    /// The five letters behind a generated name.
    pub fn suffix(&self) -> String {
        let bytes: [u8; 5] = self.bytes();
        bytes.iter().map(|&byte| char::from(SUFFIX[usize::from(byte) % SUFFIX.len()])).collect()
    }

    /// A secret that cannot be guessed, in hexadecimal digits.
    pub fn secret(&self) -> String {
        hex(&self.bytes::<32>())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |digits, byte| digits + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_their_form_and_follow_from_the_seed() {
        let (one, same, other) = (Entropy::seeded(1), Entropy::seeded(1), Entropy::seeded(2));
        let uid = one.uid();
        assert_eq!((uid.len(), uid.as_bytes()[14], uid.matches('-').count()), (36, b'4', 4), "{uid}");
        assert_eq!(uid, same.uid());
        assert_ne!(uid, other.uid());
        assert_eq!(one.suffix().len(), 5);
        assert_eq!(one.secret().len(), 64);
    }
}
