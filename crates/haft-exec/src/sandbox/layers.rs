//! The layers of the sandbox, and which of them are in force.

use std::fmt;

/// One layer of the sandbox. Each is there because the others have a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// A file system of its own: read-only, with private places, secrets hidden, paths protected.
    Mounts,
    /// Processes of its own: nothing outside is seen, and all of it ends at once.
    Processes,
    /// A network of its own, or of its session, with a loopback; the way out is a proxy.
    Network,
    /// Landlock: files, abstract sockets and signals, held again by another part of the kernel.
    Landlock,
    /// Seccomp: system calls that no build needs and that escapes are made of.
    Seccomp,
    /// No capabilities and no way to gain any.
    Privileges,
}

impl Layer {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 6] = [
        Self::Mounts,
        Self::Processes,
        Self::Network,
        Self::Landlock,
        Self::Seccomp,
        Self::Privileges,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mounts => "mounts",
            Self::Processes => "processes",
            Self::Network => "network",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Privileges => "privileges",
        }
    }

    /// What a command could do without it that it must not.
    #[must_use]
    pub const fn without(self) -> &'static str {
        match self {
            Self::Mounts => {
                "protected files inside the workspace can be changed, modes and times of files \
                 outside too, /tmp is shared, and sockets of daemons can be reached"
            }
            Self::Processes => "other processes are seen, and a command is ended by a walk",
            Self::Network => {
                "local servers do not work and allowed hosts are out of reach, as no socket of the \
                 internet can be made"
            }
            Self::Landlock => "files are held by the mounts alone",
            Self::Seccomp => "rarely used parts of the kernel are within reach",
            Self::Privileges => "programs that change user gain rights",
        }
    }
}

/// Whether a layer is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It is.
    InForce,
    /// It is not wanted: the network is allowed, or there is no sandbox.
    NotWanted,
    /// It is not, and this is why.
    Missing(String),
}

/// The state of every layer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layers(pub Vec<(Layer, State)>);

impl Layers {
    /// Those that are missing, with the reason.
    pub fn missing(&self) -> impl Iterator<Item = (Layer, &str)> {
        self.0.iter().filter_map(|(layer, state)| match state {
            State::Missing(reason) => Some((*layer, reason.as_str())),
            State::InForce | State::NotWanted => None,
        })
    }

    /// Whether `layer` is in force.
    #[must_use]
    pub fn has(&self, layer: Layer) -> bool {
        self.0.iter().any(|(one, state)| *one == layer && *state == State::InForce)
    }

    pub(crate) fn set(&mut self, layer: Layer, state: State) {
        self.0.retain(|(one, _)| *one != layer);
        self.0.push((layer, state));
    }
}

/// A line for each layer, for people.
impl fmt::Display for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (layer, state)) in self.0.iter().enumerate() {
            let end = if index == 0 { "" } else { "\n" };
            let name = layer.name();
            match state {
                State::InForce => write!(f, "{end}{name}: in force")?,
                State::NotWanted => write!(f, "{end}{name}: not wanted")?,
                State::Missing(reason) => {
                    write!(f, "{end}{name}: missing ({reason}): {}", layer.without())?;
                }
            }
        }
        Ok(())
    }
}
