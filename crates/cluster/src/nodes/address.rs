//! Addresses for nodes and pods, each once.

use std::collections::HashSet;
use std::net::Ipv4Addr;

/// Addresses of one network, handed out in order and not again until all others have been.
#[derive(Debug)]
pub(super) struct Addresses {
    first: u32,
    count: u32,
    next: u32,
    used: HashSet<u32>,
}

impl Addresses {
    /// The network of `prefix` bits that `base` is in.
    pub(super) fn of((base, prefix): (Ipv4Addr, u8)) -> Self {
        let size = u32::MAX.checked_shr(u32::from(prefix)).unwrap_or(0);
        let first = u32::from(base) & !size;
        Self { first, count: size, next: 0, used: HashSet::new() }
    }

    /// An address that nobody has; nothing if there is none left.
    pub(super) fn take(&mut self) -> Option<Ipv4Addr> {
        for _ in 0..self.count {
            // The network's own address, the first, is nobody's.
            let address = self.first + 1 + self.next;
            self.next = (self.next + 1) % self.count;
            if self.used.insert(address) {
                return Some(Ipv4Addr::from(address));
            }
        }
        None
    }

    /// Somebody has this address already.
    pub(super) fn reserve(&mut self, address: &str) {
        if let Ok(address) = address.parse::<Ipv4Addr>() {
            self.used.insert(address.into());
        }
    }

    /// Nobody has it any more.
    pub(super) fn release(&mut self, address: &str) {
        if let Ok(address) = address.parse::<Ipv4Addr>() {
            self.used.remove(&address.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_owner() {
        let mut addresses = Addresses::of((Ipv4Addr::new(10, 1, 2, 5), 30));
        addresses.reserve("10.1.2.6");
        let mut take = || addresses.take().map(|address| address.to_string());
        assert_eq!([take(), take(), take()], [Some("10.1.2.5".to_owned()), Some("10.1.2.7".to_owned()), None]);
        addresses.release("10.1.2.6");
        assert_eq!(addresses.take(), Some(Ipv4Addr::new(10, 1, 2, 6)));
        assert_eq!(Addresses::of((Ipv4Addr::LOCALHOST, 32)).take(), None);
        assert_eq!(Addresses::of((Ipv4Addr::LOCALHOST, 99)).take(), None);
    }
}
