//! A server on this machine that says what a test wants, and a resolver that knows its names.
#![allow(dead_code, reason = "three crates' tests share it, and none needs all")]

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use haft_web::{BoxFuture, HostPattern, Resolve, Settings};

/// A listener whose connections are counted and answered, each on a thread of its own.
pub(crate) struct Site {
    pub(crate) port: u16,
    hits: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<Asked>>>,
}

/// One request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    /// The first line and those after it, in lower case but for the first.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

impl Site {
    /// Answers one request of every connection with what `answer` writes.
    pub(crate) fn new(answer: impl Fn(&Asked, &mut TcpStream) + Send + Sync + 'static) -> Self {
        Self::serving(answer, 1)
    }

    /// Answers all requests of every connection.
    pub(crate) fn keeping(answer: impl Fn(&Asked, &mut TcpStream) + Send + Sync + 'static) -> Self {
        Self::serving(answer, usize::MAX)
    }

    fn serving(
        answer: impl Fn(&Asked, &mut TcpStream) + Send + Sync + 'static,
        most: usize,
    ) -> Self {
        let (hits, requests) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (answer, seen, kept) = (Arc::new(answer), Arc::clone(&hits), Arc::clone(&requests));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                seen.fetch_add(1, Ordering::SeqCst);
                let (answer, kept) = (Arc::clone(&answer), Arc::clone(&kept));
                std::thread::spawn(move || {
                    for _ in 0..most {
                        let Some(asked) = receive(&mut stream) else { return };
                        kept.lock().unwrap().push(asked.clone());
                        answer(&asked, &mut stream);
                    }
                });
            }
        });
        Self { port, hits, requests }
    }

    /// Answers every request with these bytes.
    pub(crate) fn saying(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::new(move |_, stream| send(stream, &answer))
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://site.test:{}{path}", self.port)
    }

    /// How many connections there were.
    pub(crate) fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }

    pub(crate) fn requests(&self) -> Vec<Asked> {
        self.requests.lock().unwrap().clone()
    }
}

/// Writes as long as somebody listens.
pub(crate) fn send(stream: &mut TcpStream, bytes: &[u8]) {
    stream.write_all(bytes).and_then(|()| stream.flush()).ok();
}

fn receive(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        bytes.push(byte[0]);
    }
    let mut asked = Asked { head: String::from_utf8(bytes).unwrap(), body: String::new() };
    let length = asked.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    asked.body = String::from_utf8(body).unwrap();
    Some(asked)
}

/// A whole answer.
pub(crate) fn ok(mime: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    answer("200 OK", &format!("content-type: {mime}\r\n"), body)
}

/// A whole answer with another status, and more lines.
pub(crate) fn answer(status: &str, lines: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!("HTTP/1.1 {status}\r\n{lines}content-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// Names with the answers that they get, one after another; the last stays.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    answers: HashMap<String, Vec<Vec<IpAddr>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Names {
    /// `site.test` is this machine.
    pub(crate) fn local() -> Self {
        Self::default().with("site.test", &[&["127.0.0.1"]]).with("other.test", &[&["127.0.0.1"]])
    }

    pub(crate) fn with(mut self, name: &str, answers: &[&[&str]]) -> Self {
        let parse = |texts: &&[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        self.answers.insert(name.to_owned(), answers.iter().map(parse).collect());
        self
    }

    /// The names that were asked for.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let before = {
            let mut asked = self.asked.lock().unwrap();
            asked.push(host.to_owned());
            asked.iter().filter(|name| *name == host).count() - 1
        };
        let answers = self.answers.get(host);
        let answer = answers.map(|answers| answers[before.min(answers.len() - 1)].clone());
        let unknown = || io::Error::new(io::ErrorKind::NotFound, "no such name");
        Box::pin(async move { answer.ok_or_else(unknown) })
    }
}

/// Settings in which `site.test` may be reached.
pub(crate) fn settings() -> Settings {
    Settings { private_hosts: vec![HostPattern::new("site.test")], ..Settings::default() }
}
