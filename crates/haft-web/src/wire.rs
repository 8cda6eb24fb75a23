//! Tokio's streams as hyper takes them: a few lines instead of a crate.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connect::Stream;

/// Bytes that are read at once.
const CHUNK: usize = 16 * 1024;

/// A stream with a buffer between: hyper's own may be uninitialised memory, which takes unsafe code
/// to fill directly.
pub(crate) struct Wire {
    stream: Stream,
    buffer: Box<[MaybeUninit<u8>]>,
}

impl Wire {
    pub(crate) fn new(stream: Stream) -> Self {
        Self { stream, buffer: vec![MaybeUninit::uninit(); CHUNK].into_boxed_slice() }
    }
}

impl Read for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, buffer } = self.get_mut();
        let room = cursor.remaining().min(buffer.len());
        let mut read = ReadBuf::uninit(buffer.get_mut(..room).unwrap_or_default());
        ready!(Pin::new(stream).poll_read(cx, &mut read))?;
        cursor.put_slice(read.filled());
        Poll::Ready(Ok(()))
    }
}

impl Write for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
