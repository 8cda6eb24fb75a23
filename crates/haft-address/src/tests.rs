//! Addresses of every kind, and that no spelling of a private IPv4 address is public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::not_public;

#[test]
fn public_addresses_are_public() {
    for text in ["1.1.1.1", "93.184.216.34", "172.32.0.1", "100.128.0.1", "198.20.0.1"] {
        assert_eq!(not_public(text.parse().unwrap()), None, "{text}");
    }
    for text in [
        "2606:4700::1111",
        "2001:200::1",
        "2a00:1450:4001::1",
        "::ffff:1.1.1.1",
        "64:ff9b::101:101",
    ] {
        assert_eq!(not_public(text.parse().unwrap()), None, "{text}");
    }
}

#[test]
fn every_other_kind_is_not() {
    let four = [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.100.100.200",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.9",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
    ];
    let six = [
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:0:7f00:1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "100::1",
        "2001::1",
        "2001:0:53aa:64c::80ff:fffe",
        "2001:2::1",
        "2001:10::1",
        "2001:2f::1",
        "2001:1ff:ffff::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:101:101::",
        "3fff::1",
        "4000::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ];
    for text in four.iter().chain(&six) {
        assert!(not_public(text.parse().unwrap()).is_some(), "{text}");
    }
}

proptest! {
    #[test]
    fn an_ipv6_address_is_no_more_public_than_the_ipv4_address_in_it(bits: u32, form in 0_usize..6) {
        let four = Ipv4Addr::from_bits(bits);
        let [a, b] = [(bits >> 16) as u16, bits as u16];
        let six = [
            four.to_ipv6_mapped(),
            four.to_ipv6_compatible(),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, a, b),
            Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, a, b),
            Ipv6Addr::new(0x2002, a, b, 0, 0, 0, 0, 1),
            Ipv6Addr::new(0x2001, 0, 1, 1, 0, 0, !a, !b),
        ][form];
        if not_public(IpAddr::V4(four)).is_some() {
            prop_assert!(not_public(IpAddr::V6(six)).is_some(), "{six} is {four}");
        }
    }
}
