//! Compressed answers, taken apart as they come and stopped where they get too long.

use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use crate::zstd::Zstd;

/// What servers are told that we take.
pub(crate) const ENCODINGS: &str = "gzip, deflate, br, zstd";
/// Memory that brotli gets for moving bytes.
const BROTLI_BUFFER: usize = 32 * 1024;

/// Takes bytes as they arrive, and keeps what they decode to, up to a limit.
pub(crate) struct Decoder {
    form: Form,
}

enum Form {
    Plain(Capped),
    Gzip(MultiGzDecoder<Capped>),
    /// Deflate with or without its wrapper: servers disagree, and the first byte tells.
    DeflateUnknown(Capped),
    Zlib(ZlibDecoder<Capped>),
    Deflate(DeflateDecoder<Capped>),
    Brotli(Box<DecompressorWriter<Capped>>),
    Zstd(Box<Zstd>, Capped),
}

/// Bytes, and how many there may be. Beyond that every write fails.
#[derive(Default)]
pub(crate) struct Capped {
    bytes: Vec<u8>,
    most: usize,
    over: bool,
}

impl Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.over || bytes.len() > self.most.saturating_sub(self.bytes.len()) {
            self.over = true;
            return Err(io::Error::other("longer than is read"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Decoder {
    /// For the value of `Content-Encoding`.
    ///
    /// # Errors
    /// If it names something that is not known, or several at once.
    pub(crate) fn new(encoding: &str, most: usize) -> Result<Self, String> {
        let capped = Capped { most, ..Capped::default() };
        let names: Vec<String> = encoding
            .split(',')
            .map(|name| name.trim().to_ascii_lowercase())
            .filter(|name| !name.is_empty() && name != "identity")
            .collect();
        let form = match names.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [] => Form::Plain(capped),
            ["gzip" | "x-gzip"] => Form::Gzip(MultiGzDecoder::new(capped)),
            ["deflate"] => Form::DeflateUnknown(capped),
            ["br"] => Form::Brotli(Box::new(DecompressorWriter::new(capped, BROTLI_BUFFER))),
            ["zstd"] => Form::Zstd(Box::default(), capped),
            [one] => {
                let name: String = one.chars().filter(char::is_ascii_graphic).take(40).collect();
                return Err(format!("it is encoded as {name}, which is not known"));
            }
            _ => return Err("it is compressed more than once".to_owned()),
        };
        Ok(Self { form })
    }

    /// Takes what arrived.
    ///
    /// # Errors
    /// If it cannot be decoded. Being too long is no error here.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), String> {
        if let Form::DeflateUnknown(capped) = &mut self.form
            && let Some(first) = bytes.first()
        {
            let capped = std::mem::take(capped);
            let wrapped = first & 0x0f == 8;
            self.form = if wrapped {
                Form::Zlib(ZlibDecoder::new(capped))
            } else {
                Form::Deflate(DeflateDecoder::new(capped))
            };
        }
        let written = match &mut self.form {
            Form::Plain(to) | Form::DeflateUnknown(to) => to.write_all(bytes),
            Form::Gzip(to) => to.write_all(bytes),
            Form::Zlib(to) => to.write_all(bytes),
            Form::Deflate(to) => to.write_all(bytes),
            Form::Brotli(to) => to.write_all(bytes),
            Form::Zstd(zstd, to) => zstd.push(bytes, to),
        };
        match written {
            Err(error) if !self.is_over() => Err(undecodable(&error)),
            _ => Ok(()),
        }
    }

    /// Whether it got longer than it may.
    pub(crate) fn is_over(&self) -> bool {
        match &self.form {
            Form::Plain(to) | Form::DeflateUnknown(to) | Form::Zstd(_, to) => to.over,
            Form::Gzip(to) => to.get_ref().over,
            Form::Zlib(to) => to.get_ref().over,
            Form::Deflate(to) => to.get_ref().over,
            Form::Brotli(to) => to.get_ref().over,
        }
    }

    /// All that was decoded.
    ///
    /// # Errors
    /// If the end is missing.
    pub(crate) fn finish(self) -> Result<Vec<u8>, String> {
        let capped = match self.form {
            Form::Plain(to) | Form::DeflateUnknown(to) => Ok(to),
            Form::Gzip(to) => to.finish(),
            Form::Zlib(to) => to.finish(),
            Form::Deflate(to) => to.finish(),
            Form::Brotli(mut to) => match to.close() {
                Ok(()) => Ok(std::mem::take(to.get_mut())),
                Err(error) => Err(error),
            },
            Form::Zstd(zstd, to) => zstd.finish(to),
        };
        capped.map(|capped| capped.bytes).map_err(|error| undecodable(&error))
    }
}

fn undecodable(error: &io::Error) -> String {
    format!("it cannot be decompressed ({error})")
}
