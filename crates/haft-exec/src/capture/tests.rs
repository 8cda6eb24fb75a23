//! Whatever comes in whatever pieces: counts, ends and cuts are exact.

use std::io::{Read, Seek};

use proptest::prelude::*;

use super::{AtHand, Capture, Stream};

fn pieces() -> impl Strategy<Value = Vec<(bool, Vec<u8>)>> {
    let byte = prop_oneof![Just(b'\n'), Just(b'a'), Just(0xc3), Just(0xa4), any::<u8>()];
    let piece = proptest::collection::vec(byte, 1..20);
    proptest::collection::vec((any::<bool>(), piece), 0..20)
}

const fn stream(errors: bool) -> Stream {
    if errors { Stream::Errors } else { Stream::Output }
}

proptest! {
    #[test]
    fn nothing_is_lost_or_counted_twice(pieces in pieces(), head in 0_usize..100, tail in 1_usize..100) {
        let file = tempfile::tempfile().unwrap();
        let mut capture =
            Capture::new(AtHand { head, tail }).spilling(file.try_clone().unwrap(), u64::MAX);
        let mut all = Vec::new();
        for (errors, piece) in &pieces {
            capture.push(stream(*errors), piece).unwrap();
            all.extend_from_slice(piece);
        }
        prop_assert_eq!(capture.total(), all.len() as u64);
        prop_assert_eq!(capture.unkept(), 0);
        prop_assert_eq!(capture.first(), &all[..head.min(all.len())]);
        let after = &all[head.min(all.len())..];
        prop_assert_eq!(capture.last(), &after[after.len().saturating_sub(tail)..]);
        let mut spilled = Vec::new();
        let mut file = file;
        file.rewind().unwrap();
        file.read_to_end(&mut spilled).unwrap();
        prop_assert_eq!(&spilled, &all);
        let errors: usize = pieces.iter().filter(|(errors, _)| *errors).map(|(_, piece)| piece.len()).sum();
        prop_assert_eq!(capture.from_errors(), errors as u64);
    }

    #[test]
    fn a_view_and_its_gap_make_the_whole(lines in proptest::collection::vec("[a-zäö€]{0,30}", 0..60), head in 1_usize..200, tail in 1_usize..200) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let mut capture = Capture::new(AtHand { head, tail });
        for piece in text.as_bytes().chunks(7) {
            capture.push(Stream::Output, piece).unwrap();
        }
        let view = capture.view();
        prop_assert!(!view.head.contains(char::REPLACEMENT_CHARACTER) && !view.tail.contains(char::REPLACEMENT_CHARACTER));
        prop_assert!(text.starts_with(&view.head) && text.ends_with(&view.tail));
        let gap = view.gap.map_or((0, 0), |gap| (gap.bytes, gap.lines));
        prop_assert_eq!((view.head.len() + view.tail.len()) as u64 + gap.0, text.len() as u64);
        let shown = view.head.matches('\n').count() + view.tail.matches('\n').count();
        prop_assert_eq!(shown as u64 + gap.1, lines.len() as u64);
    }

    #[test]
    fn runs_tell_whose_the_bytes_are(pieces in pieces()) {
        let mut capture = Capture::new(AtHand { head: 10, tail: 10 });
        let mut whose = Vec::new();
        for (errors, piece) in &pieces {
            capture.push(stream(*errors), piece).unwrap();
            whose.extend(piece.iter().map(|_| stream(*errors)));
        }
        let mut told = Vec::new();
        for run in capture.runs() {
            prop_assert_eq!(run.start, told.len() as u64);
            told.extend((0..run.length).map(|_| run.stream));
        }
        prop_assert_eq!(told, whose);
    }
}

#[test]
fn what_is_beyond_the_room_is_counted() {
    let mut capture =
        Capture::new(AtHand { head: 2, tail: 2 }).spilling(tempfile::tempfile().unwrap(), 10);
    capture.push(Stream::Output, &[b'x'; 25]).unwrap();
    assert_eq!((capture.total(), capture.unkept()), (25, 15));
}
