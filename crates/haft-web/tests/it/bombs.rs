//! Bodies that are short until they are decompressed.

use std::io::Write;

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A zstd frame of blocks that each stand for 128 KiB of one letter.
pub(crate) fn zstd_bomb(blocks: usize) -> Vec<u8> {
    // No sizes, no check sum, a window of 1 MiB.
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x50];
    for number in 0..blocks {
        let last = usize::from(number + 1 == blocks);
        let head = last | 1 << 1 | (128 * 1024) << 3;
        frame.extend_from_slice(&head.to_le_bytes()[..3]);
        frame.push(b'x');
    }
    frame
}
