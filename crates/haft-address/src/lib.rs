//! Which addresses belong to the public internet, and why the others do not.
//!
//! One judgement for all who connect on somebody's word: whoever may reach only what anybody could
//! is told the same by each.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is not one of the public internet; none if it is.
///
/// An IPv6 address that stands for an IPv4 one is what that one is. Ways to carry IPv4 that nobody
/// needs any more (6to4, Teredo) are no way in at all.
#[must_use]
pub fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => of_four(address),
        IpAddr::V6(address) => of_six(address),
    }
}

/// The ranges of IPv4 that are not public: first address, length of the prefix, what it is.
const FOUR: [([u8; 4], u32, &str); 16] = [
    ([0, 0, 0, 0], 8, "this machine"),
    ([10, 0, 0, 0], 8, "a private network"),
    ([100, 64, 0, 0], 10, "a provider's private network"),
    ([127, 0, 0, 0], 8, "this machine"),
    ([169, 254, 0, 0], 16, "link-local, where clouds keep their metadata"),
    ([172, 16, 0, 0], 12, "a private network"),
    ([192, 0, 0, 0], 24, "reserved"),
    ([192, 0, 2, 0], 24, "for documentation"),
    ([192, 88, 99, 0], 24, "a relay that is no longer in use"),
    ([192, 168, 0, 0], 16, "a private network"),
    ([198, 18, 0, 0], 15, "for benchmarks"),
    ([198, 51, 100, 0], 24, "for documentation"),
    ([203, 0, 113, 0], 24, "for documentation"),
    ([224, 0, 0, 0], 4, "multicast"),
    ([240, 0, 0, 0], 4, "reserved"),
    ([255, 255, 255, 255], 32, "broadcast"),
];

/// The ranges of IPv6 within the public one that are not public after all.
const SIX: [([u16; 3], u32, &str); 6] = [
    ([0x2001, 0, 0], 32, "Teredo, which hides an IPv4 address"),
    ([0x2001, 2, 0], 48, "for benchmarks"),
    ([0x2001, 0, 0], 23, "reserved"),
    ([0x2001, 0xdb8, 0], 32, "for documentation"),
    ([0x2002, 0, 0], 16, "6to4, which hides an IPv4 address"),
    ([0x3fff, 0, 0], 20, "for documentation"),
];

fn of_four(address: Ipv4Addr) -> Option<&'static str> {
    let bits = address.to_bits();
    let within = |(first, prefix, _): &&([u8; 4], u32, &str)| {
        let shift = 32 - prefix;
        bits.checked_shr(shift) == Ipv4Addr::from(*first).to_bits().checked_shr(shift)
    };
    FOUR.iter().find(within).map(|(_, _, what)| *what)
}

fn of_six(address: Ipv6Addr) -> Option<&'static str> {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Some("this machine"),
        // Mapped, translated, and the well-known prefix of NAT64.
        [0, 0, 0, 0, 0, 0xffff, a, b]
        | [0, 0, 0, 0, 0xffff, 0, a, b]
        | [0x64, 0xff9b, 0, 0, 0, 0, a, b] => {
            of_four(Ipv4Addr::from_bits(u32::from(a) << 16 | u32::from(b)))
        }
        [0, 0, 0, 0, 0, 0, _, _] => Some("an IPv4 address in a form that nobody uses"),
        [0x64, 0xff9b, ..] => Some("a translator of the local network"),
        [first, ..] if first & 0xfe00 == 0xfc00 => Some("a private network"),
        [first, ..] if first & 0xffc0 == 0xfe80 => Some("link-local"),
        [first, ..] if first & 0xffc0 == 0xfec0 => Some("a private network"),
        [first, ..] if first & 0xff00 == 0xff00 => Some("multicast"),
        [first, ..] if first & 0xe000 != 0x2000 => Some("reserved"),
        [a, b, c, ..] => {
            let top = |[a, b, c]: [u16; 3]| u64::from(a) << 32 | u64::from(b) << 16 | u64::from(c);
            let within = |(first, prefix, _): &&([u16; 3], u32, &str)| {
                top([a, b, c]) >> (48 - prefix) == top(*first) >> (48 - prefix)
            };
            SIX.iter().find(within).map(|(_, _, what)| *what)
        }
    }
}

#[cfg(test)]
mod tests;
