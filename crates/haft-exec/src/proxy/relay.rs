//! Bytes between a program and a host: a tunnel both ways, or one request and its answer.

use std::io;
use std::sync::Mutex;
use std::time::Duration;

use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, Chain,
};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::{Instant, sleep_until};

use super::request::Body;

/// How long a connection may be silent.
const SILENCE: Duration = Duration::from_secs(300);

/// Longest line that says how long a piece of a body is.
const LINE: usize = 32;

/// Passes bytes on both ways until both sides have ended. `first` came from the program already.
pub(super) async fn tunnel(
    program: &mut TcpStream,
    mut host: TcpStream,
    first: &[u8],
) -> io::Result<()> {
    let Ends { mut from_program, mut to_program, mut from_host, mut to_host } =
        Ends::of(program, &mut host, first);
    let seen = Seen::now();
    let out = all(&mut from_program, &mut to_host, &seen);
    let back = all(&mut from_host, &mut to_program, &seen);
    tokio::select! {
        ended = async { tokio::try_join!(out, back) } => ended.map(|_| ()),
        () = seen.nothing_for(SILENCE) => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Passes on one request and everything that is answered. What the program sends after the request
/// is not read: it may be another one.
pub(super) async fn forward(
    program: &mut TcpStream,
    mut host: TcpStream,
    head: &str,
    body: Body,
    first: &[u8],
) -> io::Result<()> {
    let Ends { mut from_program, mut to_program, mut from_host, mut to_host } =
        Ends::of(program, &mut host, first);
    let seen = Seen::now();
    let out = async {
        to_host.write_all(head.as_bytes()).await?;
        match body {
            Body::Length(length) => exactly(&mut from_program, &mut to_host, length, &seen).await,
            Body::Chunked => chunks(&mut from_program, &mut to_host, &seen).await,
        }
    };
    let back = all(&mut from_host, &mut to_program, &seen);
    tokio::select! {
        ended = back => ended,
        error = only_error(out) => Err(error),
        () = seen.nothing_for(SILENCE) => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Both ends of both connections.
struct Ends<'a> {
    from_program: BufReader<Chain<&'a [u8], ReadHalf<'a>>>,
    to_program: WriteHalf<'a>,
    from_host: BufReader<ReadHalf<'a>>,
    to_host: WriteHalf<'a>,
}

impl<'a> Ends<'a> {
    /// `first` came from the program already.
    fn of(program: &'a mut TcpStream, host: &'a mut TcpStream, first: &'a [u8]) -> Self {
        let (from_program, to_program) = program.split();
        let (from_host, to_host) = host.split();
        let from_program = BufReader::new(first.chain(from_program));
        Self { from_program, to_program, from_host: BufReader::new(from_host), to_host }
    }
}

/// Is ready only if something goes wrong.
async fn only_error(work: impl Future<Output = io::Result<()>>) -> io::Error {
    match work.await {
        Ok(()) => std::future::pending().await,
        Err(error) => error,
    }
}

/// Passes on a body that says how long each of its pieces is, and nothing after it.
async fn chunks(
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    seen: &Seen,
) -> io::Result<()> {
    loop {
        let line = line(from).await?;
        let is_number =
            (1..=15).contains(&line.len()) && line.bytes().all(|byte| byte.is_ascii_hexdigit());
        let length = u64::from_str_radix(&line, 16).ok().filter(|_| is_number);
        let length = length.ok_or(io::ErrorKind::InvalidData)?;
        to.write_all(format!("{line}\r\n").as_bytes()).await?;
        exactly(from, to, length, seen).await?;
        if !self::line(from).await?.is_empty() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        to.write_all(b"\r\n").await?;
        if length == 0 {
            return Ok(());
        }
    }
}

/// A short line, without its end.
async fn line(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<String> {
    let mut line = Vec::new();
    from.take(LINE as u64).read_until(b'\n', &mut line).await?;
    let line = line.strip_suffix(b"\r\n").ok_or(io::ErrorKind::InvalidData)?;
    String::from_utf8(line.to_vec()).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Passes on all that comes, and its end.
async fn all(
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    seen: &Seen,
) -> io::Result<()> {
    pass(from, to, u64::MAX, seen).await?;
    to.shutdown().await
}

async fn exactly(
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    length: u64,
    seen: &Seen,
) -> io::Result<()> {
    match pass(from, to, length, seen).await? {
        count if count == length => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Passes on up to `most` bytes; returns how many there were.
async fn pass(
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    most: u64,
    seen: &Seen,
) -> io::Result<u64> {
    let mut count = 0;
    while count < most {
        let bytes = from.fill_buf().await?;
        let room = usize::try_from(most - count).unwrap_or(usize::MAX);
        let bytes = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        if bytes.is_empty() {
            break;
        }
        to.write_all(bytes).await?;
        let passed = bytes.len();
        from.consume(passed);
        count += passed as u64;
        seen.again();
    }
    Ok(count)
}

/// When bytes were last seen.
struct Seen(Mutex<Instant>);

impl Seen {
    fn now() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    fn last(&self) -> Instant {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn again(&self) {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Instant::now();
    }

    /// Is ready when nothing has been seen for so long.
    async fn nothing_for(&self, time: Duration) {
        loop {
            let last = self.last();
            sleep_until(last + time).await;
            if self.last() == last {
                return;
            }
        }
    }
}
