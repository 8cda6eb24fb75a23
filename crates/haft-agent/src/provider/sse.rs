//! Server-sent events: bytes in pieces of any size become events, as the standard wants them read.

/// An event that is longer than this is no reply of a model.
const LONGEST: usize = 64 * 1024 * 1024;

/// Reads a stream. Pieces may end anywhere, within characters too.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// The line that is not whole yet.
    line: Vec<u8>,
    /// The data of the event that is not whole yet.
    data: String,
    /// The last byte was a carriage return: a line feed after it belongs to the same line end.
    after_return: bool,
    /// The first line may open with a byte order mark.
    begun: bool,
}

/// A stream that is not one of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TooLong;

impl Reader {
    /// Takes in more bytes; returns the data of every event that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
        let mut events = Vec::new();
        for &byte in bytes {
            let paired = std::mem::take(&mut self.after_return) && byte == b'\n';
            match byte {
                b'\n' if paired => {}
                b'\n' => events.extend(self.end_line()),
                b'\r' => {
                    self.after_return = true;
                    events.extend(self.end_line());
                }
                _ if self.line.len() + self.data.len() >= LONGEST => return Err(TooLong),
                _ => self.line.push(byte),
            }
        }
        Ok(events)
    }

    /// Reads one line; an empty one ends an event.
    fn end_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = match std::mem::replace(&mut self.begun, true) {
            false => line.trim_start_matches('\u{feff}'),
            true => &line,
        };
        if line.is_empty() {
            // The standard drops an event without data.
            return Some(std::mem::take(&mut self.data))
                .filter(|data| !data.is_empty())
                .map(without_end);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        // Types, ids and comments say nothing that the data does not say too.
        if field == "data" {
            self.data.push_str(value.strip_prefix(' ').unwrap_or(value));
            self.data.push('\n');
        }
        None
    }
}

fn without_end(mut data: String) -> String {
    data.pop();
    data
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<String> {
        let mut reader = Reader::default();
        pieces.iter().flat_map(|piece| reader.push(piece).unwrap()).collect()
    }

    #[test]
    fn events_are_read_whatever_their_line_ends() {
        for end in ["\n", "\r\n", "\r"] {
            let text = [
                "\u{feff}: a comment",
                "event: x",
                "data: one",
                "data:two",
                "",
                "id: 7",
                "",
                "data",
                "",
                "data: é",
            ]
            .join(end);
            assert_eq!(
                read(&[text.as_bytes(), end.as_bytes(), end.as_bytes()]),
                ["one\ntwo", "", "é"]
            );
        }
    }

    #[test]
    fn an_event_that_is_not_ended_is_none() {
        assert_eq!(read(&[b"data: one\n"]), Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn where_pieces_end_makes_no_difference(
            lines in proptest::collection::vec("(data: ?)?[a-zé:\r]{0,9}", 0..20), size in 1_usize..7,
        ) {
            let text = lines.join("\n") + "\n\n";
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            prop_assert_eq!(read(&pieces), read(&[text.as_bytes()]));
        }
    }
}
