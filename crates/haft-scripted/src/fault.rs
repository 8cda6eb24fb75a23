//! What can go wrong between a model and an agent.

/// How one request is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// As it should be.
    None,
    /// As it should be, but in pieces that end anywhere, within characters too. The number decides where.
    Split(u64),
    /// With this status instead, and a `Retry-After` of so many seconds perhaps.
    Status(u16, Option<u64>),
    /// The connection is closed before anything was answered.
    Refuse,
    /// The connection is closed after so many bytes of the body.
    Cut(usize),
    /// The provider reports an error in the middle of the stream.
    Error,
    /// Nothing more comes after so many bytes of the body, until the agent goes away.
    Hang(usize),
}

impl Fault {
    /// Whether nothing more can be said after it.
    pub(crate) fn ends_connection(&self) -> bool {
        matches!(self, Self::Refuse | Self::Cut(_) | Self::Hang(_))
    }

    /// Where the body is cut into pieces.
    pub(crate) fn pieces<'a>(&self, body: &'a [u8]) -> Vec<&'a [u8]> {
        let Self::Split(seed) = *self else { return vec![body] };
        let (mut rest, mut state, mut pieces) = (body, seed | 1, Vec::new());
        while !rest.is_empty() {
            // A small generator of our own: the same number always means the same places.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let length = usize::try_from(state % 23).unwrap_or(0).max(1).min(rest.len());
            let (piece, after) = rest.split_at(length);
            pieces.push(piece);
            rest = after;
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_up_the_whole() {
        let body: Vec<u8> = (0..=255).collect();
        for seed in 0..50 {
            let pieces = Fault::Split(seed).pieces(&body);
            assert_eq!(pieces.concat(), body);
            assert!(pieces.len() > 10);
        }
    }
}
