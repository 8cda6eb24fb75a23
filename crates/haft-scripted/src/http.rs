//! As much of HTTP/1.1 as agents use: a request in, a response or a stream out, and the next.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use crate::fault::Fault;

/// No agent sends a longer one.
const LONGEST_BODY: u64 = 256 * 1024 * 1024;

/// A request as it came.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// What is answered.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) retry_after: Option<u64>,
    pub(crate) body: Vec<u8>,
}

impl Incoming {
    /// Reads one request; `None` if the other side closed the connection instead.
    pub(crate) fn read(stream: &TcpStream) -> io::Result<Option<Self>> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        let (Some(method), Some(path)) = (words.next(), words.next()) else {
            return Err(io::Error::other("no request line"));
        };
        let headers = read_headers(&mut reader)?;
        let value = |name: &str| {
            let mut all = headers.iter();
            all.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone())
        };
        if value("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
            (&mut &*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let body = match value("content-length").and_then(|length| length.parse::<u64>().ok()) {
            Some(length) => {
                let mut body = Vec::new();
                reader.by_ref().take(length.min(LONGEST_BODY)).read_to_end(&mut body)?;
                body
            }
            None if value("transfer-encoding").is_some() => read_chunks(&mut reader)?,
            None => Vec::new(),
        };
        Ok(Some(Self { method, path, headers, body }))
    }

    /// Whether the agent wants the connection closed after the answer.
    pub(crate) fn is_last(&self) -> bool {
        self.headers.iter().any(|(name, value)| {
            name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close")
        })
    }
}

fn read_headers(reader: &mut impl BufRead) -> io::Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.to_owned(), value.trim().to_owned())),
            None => return Ok(headers),
        }
    }
}

fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let length = u64::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
        if length == 0 || body.len() as u64 + length > LONGEST_BODY {
            return Ok(body);
        }
        reader.by_ref().take(length).read_to_end(&mut body)?;
        reader.read_line(&mut line)?;
    }
}

impl Outgoing {
    /// Writes the answer, as far as the fault lets it.
    pub(crate) fn write(&self, stream: &mut TcpStream, fault: &Fault) -> io::Result<()> {
        if *fault == Fault::Refuse {
            return Ok(());
        }
        let retry = match self.retry_after {
            Some(seconds) => format!("retry-after: {seconds}\r\n"),
            None => String::new(),
        };
        write!(
            stream,
            "HTTP/1.1 {} {}\r\ncontent-type: {}\r\n{retry}transfer-encoding: chunked\r\n\r\n",
            self.status,
            reason(self.status),
            self.kind,
        )?;
        let body = match fault {
            Fault::Cut(after) | Fault::Hang(after) => self.body.get(..*after).unwrap_or(&self.body),
            _ => &self.body,
        };
        for piece in fault.pieces(body).into_iter().filter(|piece| !piece.is_empty()) {
            write!(stream, "{:x}\r\n", piece.len())?;
            stream.write_all(piece)?;
            stream.write_all(b"\r\n")?;
            stream.flush()?;
        }
        match fault {
            Fault::Cut(_) => {}
            // Agents say nothing more; what comes is the end.
            Fault::Hang(_) => drop(stream.read(&mut [0])?),
            _ => stream.write_all(b"0\r\n\r\n")?,
        }
        stream.flush()
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        404 => "Not Found",
        429 => "Too Many Requests",
        _ => "Status",
    }
}
