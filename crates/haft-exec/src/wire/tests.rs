//! What is written is what is read, and nothing that is torn is read at all.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use proptest::prelude::*;

use super::{Left, News, Order, Output, Request};
use crate::command::{Limits, Size};
use crate::sandbox::layers::{Layer, Layers, State};
use crate::sandbox::{Confinement, Demand, Network, Protected, Sandbox, UnixSockets};

fn text() -> impl Strategy<Value = OsString> {
    proptest::collection::vec(any::<u8>(), 0..20).prop_map(OsString::from_vec)
}

fn path() -> impl Strategy<Value = PathBuf> {
    text().prop_map(PathBuf::from)
}

fn confinement() -> impl Strategy<Value = Confinement> {
    let paths = || proptest::collection::vec(path(), 0..4);
    (paths(), paths(), paths(), proptest::option::of(path()), any::<[bool; 4]>()).prop_map(
        |(writable, protected, hidden, scratch, [a, b, c, d])| Confinement {
            protected: protected
                .into_iter()
                .map(|path| if d { Protected::file(path) } else { Protected::folder(path) })
                .collect(),
            visible: hidden.clone(),
            hidden,
            scratch,
            network: if a { Network::Full } else { Network::Off },
            peers: b.then(|| "a session".to_owned()),
            unix_sockets: if b { UnixSockets::Allowed } else { UnixSockets::Refused },
            demand: if c { Demand::WhatThereIs } else { Demand::Everything },
            ..Confinement::workspace(writable)
        },
    )
}

fn request() -> impl Strategy<Value = Request> {
    let env = proptest::collection::vec((text(), text()), 0..4);
    let args = proptest::collection::vec(text(), 0..4);
    let sandbox = prop_oneof![Just(Sandbox::Off), confinement().prop_map(Sandbox::Confined)];
    (path(), args, path(), env, any::<Option<(u16, u16)>>(), any::<[Option<u64>; 4]>(), sandbox)
        .prop_map(|(program, args, cwd, env, terminal, [a, b, c, d], sandbox)| Request {
            program,
            args,
            cwd,
            env,
            terminal: terminal.map(|(columns, rows)| Size { columns, rows }),
            limits: Limits { cpu_seconds: a, file_bytes: b, memory_bytes: c, processes: d },
            sandbox,
            proxy: a.map(|word| word.to_string()),
        })
}

proptest! {
    #[test]
    fn a_request_comes_as_it_went(request in request()) {
        prop_assert_eq!(Request::decode(&request.encode()), Some(request));
    }

    #[test]
    fn a_torn_request_is_none(request in request(), at in any::<prop::sample::Index>()) {
        let bytes = request.encode();
        prop_assert_eq!(Request::decode(&bytes[..at.index(bytes.len())]), None);
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let read = (Request::decode(&bytes), News::decode(&bytes), Order::decode(&bytes));
        // A length that is larger than what is there must not be believed.
        prop_assert!(read.0.is_none_or(|request| request.args.len() <= bytes.len()));
    }
}

#[test]
fn news_and_orders_come_as_they_went() {
    let layers = Layers(vec![
        (Layer::Mounts, State::InForce),
        (Layer::Network, State::NotWanted),
        (Layer::Seccomp, State::Missing("why".into())),
    ]);
    let left = Left { pid: 7, name: "sleep".into(), output: Output::Holds };
    let news = [
        News::Started { pid: 1, layers },
        News::Failed { what: "x".into(), errno: 2 },
        News::Exited { status: 256, user_us: 1, system_us: 2, peak_kib: 3, alone: true },
        News::Left { total: 9, some: vec![left] },
        News::Waiting(true),
        News::Empty { unkillable: 1 },
    ];
    for one in news {
        assert_eq!(News::decode(&one.encode()), Some(one));
    }
    for order in [Order::End(200), Order::Left, Order::Waiting] {
        assert_eq!(Order::decode(&order.encode()), Some(order));
    }
}
