//! Zstandard, block by block: one block of a few bytes can stand for 128 KiB, so after each the
//! length is looked at.

use std::io::{self, Write};

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::decode::Capped;

/// The largest window that the web has agreed on.
const MOST_WINDOW: u64 = 8 * 1024 * 1024;
/// Longest head of a frame.
const LONGEST_HEAD: usize = 18;
/// Bytes of a block's head, and of the check sum behind the last block.
const BLOCK_HEAD: usize = 3;
const CHECK_SUM: usize = 4;

/// Takes compressed bytes in any pieces.
#[derive(Default)]
pub(crate) struct Zstd {
    decoder: FrameDecoder,
    /// What is not yet a whole block, after what was read of it.
    pending: Vec<u8>,
    read: usize,
    frame: Option<Frame>,
    /// Frames that ended.
    ended: usize,
}

/// What the head of the frame says that is under way.
struct Frame {
    has_check_sum: bool,
}

impl Zstd {
    pub(crate) fn push(&mut self, bytes: &[u8], to: &mut Capped) -> io::Result<()> {
        self.pending.extend_from_slice(bytes);
        while self.step(to, false)? {}
        // Once for all blocks: there may be one in every three bytes.
        self.pending.drain(..std::mem::take(&mut self.read));
        Ok(())
    }

    pub(crate) fn finish(mut self, mut to: Capped) -> io::Result<Capped> {
        while self.step(&mut to, true)? {}
        if self.frame.is_some() || !self.unread().is_empty() || self.ended == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it ends too early"));
        }
        Ok(to)
    }

    fn unread(&self) -> &[u8] {
        self.pending.get(self.read..).unwrap_or_default()
    }

    /// Does what the pending bytes allow; `false` if more are needed.
    fn step(&mut self, to: &mut Capped, at_end: bool) -> io::Result<bool> {
        match &self.frame {
            None => self.begin(at_end),
            Some(frame) => {
                let check_sum = if frame.has_check_sum { CHECK_SUM } else { 0 };
                match self.block_length(check_sum) {
                    Some(length) if self.unread().len() >= length => self.block(to).map(|()| true),
                    _ => Ok(false),
                }
            }
        }
    }

    /// Reads the head of a frame.
    fn begin(&mut self, at_end: bool) -> io::Result<bool> {
        let mut rest = self.pending.get(self.read..).unwrap_or_default();
        if rest.is_empty() || (rest.len() < LONGEST_HEAD && !at_end) {
            return Ok(false);
        }
        let descriptor = rest.get(4).copied().unwrap_or_default();
        check_window(rest, descriptor)?;
        self.decoder.reset(&mut rest).map_err(io::Error::other)?;
        self.read = self.pending.len() - rest.len();
        self.frame = Some(Frame { has_check_sum: descriptor & 0b100 != 0 });
        Ok(true)
    }

    /// How long the next block is with its head, and what follows it if it is the last.
    fn block_length(&self, check_sum: usize) -> Option<usize> {
        let head = self.unread().get(..BLOCK_HEAD)?;
        let head = head.iter().rev().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
        let (is_last, kind, size) = (head & 1 == 1, head >> 1 & 0b11, head >> 3);
        // The second kind is one byte, repeated.
        let content = if kind == 1 { 1 } else { size };
        Some(BLOCK_HEAD + content + if is_last { check_sum } else { 0 })
    }

    fn block(&mut self, to: &mut Capped) -> io::Result<()> {
        let mut rest = self.pending.get(self.read..).unwrap_or_default();
        let done = self
            .decoder
            .decode_blocks(&mut rest, BlockDecodingStrategy::UptoBlocks(1))
            .map_err(io::Error::other)?;
        self.read = self.pending.len() - rest.len();
        self.decoder.collect_to_writer(&mut *to)?;
        if done {
            self.frame = None;
            self.ended += 1;
        }
        to.flush()
    }
}

/// Refuses a frame that needs more memory than the web has agreed on.
fn check_window(head: &[u8], descriptor: u8) -> io::Result<()> {
    let is_single_segment = descriptor & 0b10_0000 != 0;
    let window = if is_single_segment {
        let dictionary = [0, 1, 2, 4].get(usize::from(descriptor & 0b11)).copied().unwrap_or(0);
        let size = [1, 2, 4, 8].get(usize::from(descriptor >> 6)).copied().unwrap_or(8);
        let field = head.get(5 + dictionary..5 + dictionary + size).unwrap_or_default();
        let plain = field.iter().rev().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
        if size == 2 { plain + 256 } else { plain }
    } else {
        let byte = head.get(5).copied().unwrap_or_default();
        let base = 1_u64 << (10 + (byte >> 3));
        base + base / 8 * u64::from(byte & 7)
    };
    if window > MOST_WINDOW {
        return Err(io::Error::other("it needs more memory than it gets"));
    }
    Ok(())
}
