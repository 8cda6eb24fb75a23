//! How the runtime and its keeper write to each other: lengths and bytes, in the order of the fields.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::command::{Limits, Size};
use crate::sandbox::layers::{Layer, Layers, State};
use crate::sandbox::{Confinement, Demand, Kind, Network, Protected, Sandbox, UnixSockets};

/// What the keeper needs to know of a command. The open files go beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) cwd: PathBuf,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) terminal: Option<Size>,
    pub(crate) limits: Limits,
    pub(crate) sandbox: Sandbox,
    /// The word by which a proxy knows the command, if it is to have one.
    pub(crate) proxy: Option<String>,
}

/// What a warden is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// TERM to every process, KILL after so many milliseconds.
    End(u32),
    /// Say who is left.
    Left,
    /// Say whether a process waits for the terminal.
    Waiting,
}

/// What a warden tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum News {
    Started { pid: u32, layers: Layers },
    Failed { what: String, errno: i32 },
    Exited { status: i32, user_us: u64, system_us: u64, peak_kib: u64, alone: bool },
    Left { total: u32, some: Vec<Left> },
    Waiting(bool),
    Empty { unkillable: u32 },
}

/// A process that is still there though the command has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Its number; inside a sandbox, the number it has in there.
    pub pid: u32,
    /// Its name, as the system shows it.
    pub name: String,
    /// Whether it can still write to the command's output.
    pub output: Output,
}

/// Whether a process can still write to the command's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// It has it open.
    Holds,
    /// It has not, or it cannot be known.
    Free,
}

impl Request {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.bytes(self.program.as_os_str());
        out.list(&self.args, |out, arg| out.bytes(arg));
        out.bytes(self.cwd.as_os_str());
        out.list(&self.env, |out, (name, value)| {
            out.bytes(name);
            out.bytes(value);
        });
        out.option(self.terminal, |out, size| {
            out.number(size.columns.into());
            out.number(size.rows.into());
        });
        for limit in limits(&self.limits) {
            out.option(limit, |out, limit| out.number(limit));
        }
        match &self.sandbox {
            Sandbox::Off => out.number(0),
            Sandbox::Confined(confinement) => {
                out.number(1);
                out.confinement(confinement);
            }
        }
        out.option(self.proxy.as_ref(), |out, word| out.bytes(OsStr::new(word)));
        out.0
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        Some(Self {
            program: from.path()?,
            args: from.list(Reader::text)?,
            cwd: from.path()?,
            env: from.list(|from| Some((from.text()?, from.text()?)))?,
            terminal: from.option(|from| {
                let (columns, rows) = (from.small()?, from.small()?);
                Some(Size { columns, rows })
            })?,
            limits: Limits {
                cpu_seconds: from.option(Reader::number)?,
                file_bytes: from.option(Reader::number)?,
                memory_bytes: from.option(Reader::number)?,
                processes: from.option(Reader::number)?,
            },
            sandbox: match from.number()? {
                0 => Sandbox::Off,
                _ => Sandbox::Confined(from.confinement()?),
            },
            proxy: from.option(Reader::string)?,
        })
    }
}

impl Order {
    pub(crate) fn encode(self) -> Vec<u8> {
        let mut out = Writer::default();
        match self {
            Self::End(grace) => {
                out.number(0);
                out.number(grace.into());
            }
            Self::Left => out.number(1),
            Self::Waiting => out.number(2),
        }
        out.0
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        match from.number()? {
            0 => Some(Self::End(from.small()?)),
            1 => Some(Self::Left),
            2 => Some(Self::Waiting),
            _ => None,
        }
    }
}

impl News {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        match self {
            Self::Started { pid, layers } => {
                out.number(0);
                out.number((*pid).into());
                out.list(&layers.0, |out, (layer, state)| out.layer(*layer, state));
            }
            Self::Failed { what, errno } => {
                out.number(1);
                out.bytes(OsStr::new(what));
                out.number((*errno).unsigned_abs().into());
            }
            Self::Exited { status, user_us, system_us, peak_kib, alone } => {
                out.number(2);
                out.number((*status).unsigned_abs().into());
                [user_us, system_us, peak_kib].into_iter().for_each(|number| out.number(*number));
                out.number(u64::from(*alone));
            }
            Self::Left { total, some } => {
                out.number(3);
                out.number((*total).into());
                out.list(some, |out, left| {
                    out.number(left.pid.into());
                    out.bytes(OsStr::new(&left.name));
                    out.number(u64::from(left.output == Output::Holds));
                });
            }
            Self::Waiting(waiting) => {
                out.number(4);
                out.number(u64::from(*waiting));
            }
            Self::Empty { unkillable } => {
                out.number(5);
                out.number((*unkillable).into());
            }
        }
        out.0
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        Some(match from.number()? {
            0 => Self::Started { pid: from.small()?, layers: Layers(from.list(Reader::layer)?) },
            1 => Self::Failed { what: from.string()?, errno: from.small()? },
            2 => Self::Exited {
                status: from.small()?,
                user_us: from.number()?,
                system_us: from.number()?,
                peak_kib: from.number()?,
                alone: from.number()? != 0,
            },
            3 => Self::Left { total: from.small()?, some: from.list(Reader::left)? },
            4 => Self::Waiting(from.number()? != 0),
            5 => Self::Empty { unkillable: from.small()? },
            _ => return None,
        })
    }
}

fn limits(limits: &Limits) -> [Option<u64>; 4] {
    [limits.cpu_seconds, limits.file_bytes, limits.memory_bytes, limits.processes]
}

#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &OsStr) {
        self.number(bytes.len() as u64);
        self.0.extend(bytes.as_bytes());
    }

    fn list<T>(&mut self, items: &[T], each: impl Fn(&mut Self, &T)) {
        self.number(items.len() as u64);
        items.iter().for_each(|item| each(self, item));
    }

    fn option<T>(&mut self, item: Option<T>, each: impl Fn(&mut Self, T)) {
        self.number(u64::from(item.is_some()));
        if let Some(item) = item {
            each(self, item);
        }
    }

    fn paths(&mut self, paths: &[PathBuf]) {
        self.list(paths, |out, path| out.bytes(path.as_os_str()));
    }

    fn confinement(&mut self, confinement: &Confinement) {
        self.paths(&confinement.writable);
        self.list(&confinement.protected, |out, protected| {
            out.bytes(protected.path.as_os_str());
            out.number(u64::from(protected.kind == Kind::Folder));
        });
        self.paths(&confinement.hidden);
        self.paths(&confinement.visible);
        self.option(confinement.scratch.as_ref(), |out, path| out.bytes(path.as_os_str()));
        self.number(u64::from(confinement.network == Network::Full));
        self.option(confinement.peers.as_ref(), |out, name| out.bytes(OsStr::new(name)));
        self.number(u64::from(confinement.unix_sockets == UnixSockets::Allowed));
        self.number(u64::from(confinement.demand == Demand::WhatThereIs));
    }

    fn layer(&mut self, layer: Layer, state: &State) {
        let index = Layer::ALL.iter().position(|one| *one == layer).unwrap_or_default();
        self.number(index as u64);
        match state {
            State::InForce => self.number(0),
            State::NotWanted => self.number(1),
            State::Missing(reason) => {
                self.number(2);
                self.bytes(OsStr::new(reason));
            }
        }
    }
}

/// What is left to be read. Every read is checked: a torn message is `None`, never a panic.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take(&mut self, count: usize) -> Option<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    fn small<T: TryFrom<u64>>(&mut self) -> Option<T> {
        T::try_from(self.number()?).ok()
    }

    fn text(&mut self) -> Option<OsString> {
        let length = self.small()?;
        self.take(length).map(|bytes| OsString::from_vec(bytes.to_vec()))
    }

    fn string(&mut self) -> Option<String> {
        self.text()?.into_string().ok()
    }

    fn path(&mut self) -> Option<PathBuf> {
        self.text().map(PathBuf::from)
    }

    fn list<T>(&mut self, each: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count: usize = self.small()?;
        (0..count).map(|_| each(self)).collect()
    }

    fn option<T>(&mut self, each: impl Fn(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.number()? {
            0 => Some(None),
            _ => each(self).map(Some),
        }
    }

    fn confinement(&mut self) -> Option<Confinement> {
        let paths = |from: &mut Self| from.list(Self::path);
        Some(Confinement {
            writable: paths(self)?,
            protected: self.list(|from| {
                let path = from.path()?;
                let kind = if from.number()? == 0 { Kind::File } else { Kind::Folder };
                Some(Protected { path, kind })
            })?,
            hidden: paths(self)?,
            visible: paths(self)?,
            scratch: self.option(Self::path)?,
            network: if self.number()? == 0 { Network::Off } else { Network::Full },
            peers: self.option(Self::string)?,
            unix_sockets: match self.number()? {
                0 => UnixSockets::Refused,
                _ => UnixSockets::Allowed,
            },
            demand: if self.number()? == 0 { Demand::Everything } else { Demand::WhatThereIs },
        })
    }

    fn layer(&mut self) -> Option<(Layer, State)> {
        let index: usize = self.small()?;
        let layer = *Layer::ALL.get(index)?;
        Some((
            layer,
            match self.number()? {
                0 => State::InForce,
                1 => State::NotWanted,
                _ => State::Missing(self.string()?),
            },
        ))
    }

    fn left(&mut self) -> Option<Left> {
        Some(Left {
            pid: self.small()?,
            name: self.string()?,
            output: if self.number()? == 0 { Output::Free } else { Output::Holds },
        })
    }
}

#[cfg(test)]
mod tests;
