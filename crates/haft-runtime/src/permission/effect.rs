//! What a call would do, in the words that rules are written in.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What kind of thing a call would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    /// Read a file or folder.
    Read,
    /// Create or change a file.
    Write,
    /// Remove a file.
    Delete,
    /// Run a program.
    Run,
    /// Talk to a host.
    Connect,
    /// Reach outside the workspace, in whatever way.
    External,
    /// Use a tool that does none of the above, such as a list of todos.
    Use,
}

impl EffectKind {
    /// The permission that covers it; a used tool has its own.
    fn key(self) -> Option<&'static str> {
        match self {
            Self::Read => Some("read"),
            Self::Write | Self::Delete => Some("edit"),
            Self::Run => Some("bash"),
            Self::Connect => Some("webfetch"),
            Self::External => Some("external_directory"),
            Self::Use => None,
        }
    }
}

/// One thing a call would do.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Effect {
    /// What kind of thing.
    pub kind: EffectKind,
    /// The permission it falls under: what a rule's key is compared with.
    pub key: Cow<'static, str>,
    /// The path, command, host or name it is done to: what a rule's pattern is compared with.
    pub value: String,
    /// The same thing under another name that rules may use: a path's absolute form, a page's host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also: Option<String>,
    /// Why this could not be fully worked out; then no pattern short of `*` can allow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unproven: Option<String>,
    /// Which rules count for it.
    #[serde(default, skip_serializing_if = "Weight::is_full")]
    pub weight: Weight,
    /// The beginning of the value that is certain, where the rest is not: a rule that denies something
    /// which begins like that may mean it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certain: Option<String>,
}

/// Which rules count for an effect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// All: a rule has to allow it.
    #[default]
    Full,
    /// Only those that deny it or ask about just this: what it does is among the other effects already.
    Mentioned,
}

impl Weight {
    fn is_full(&self) -> bool {
        *self == Self::Full
    }
}

impl Effect {
    fn new(kind: EffectKind, key: Cow<'static, str>, value: String) -> Self {
        let (also, unproven, certain) = (None, None, None);
        Self { kind, key, value, also, unproven, weight: Weight::Full, certain }
    }

    /// Something done to a file. `path` is canonical; inside `root` it is shown relative to it.
    #[must_use]
    pub fn on_path(kind: EffectKind, path: &Path, root: &Path) -> Self {
        let key = Cow::Borrowed(kind.key().unwrap_or("read"));
        let absolute = path.to_string_lossy().into_owned();
        match path.strip_prefix(root) {
            Ok(inside) => {
                let inside = if inside.as_os_str().is_empty() { Path::new(".") } else { inside };
                let value = inside.to_string_lossy().into_owned();
                Self { also: Some(absolute), ..Self::new(kind, key, value) }
            }
            Err(_) => Self::new(kind, key, absolute),
        }
    }

    /// Something done to a file that cannot be named before it is done. What runs the command is asked
    /// for on its own, so only rules that deny something of the permission count: it may be just that.
    #[must_use]
    pub fn anywhere(kind: EffectKind) -> Self {
        let key = Cow::Borrowed(kind.key().unwrap_or("read"));
        Self::new(kind, key, "a file that is not known".to_owned()).mentioned().certain_up_to("")
    }

    /// Whether it is done to a file that cannot be named.
    #[must_use]
    pub fn is_anywhere(&self) -> bool {
        self.kind != EffectKind::Run
            && self.weight == Weight::Mentioned
            && self.certain.as_deref() == Some("")
    }

    /// One program with its arguments, as one line.
    #[must_use]
    pub fn run(command: impl Into<String>) -> Self {
        Self::new(EffectKind::Run, "bash".into(), command.into())
    }

    /// Talking to a host or URL.
    #[must_use]
    pub fn connect(url: impl Into<String>) -> Self {
        Self::new(EffectKind::Connect, "webfetch".into(), url.into())
    }

    /// Fetching the page at `url`; `host` has the port where it is not the usual one. Rules may speak of
    /// either, see [`Effect::page`].
    #[must_use]
    pub fn fetch(url: impl Into<String>, host: impl Into<String>) -> Self {
        Self { also: Some(host.into()), ..Self::connect(url) }
    }

    /// The URL and the host of a page that would be fetched.
    #[must_use]
    pub fn page(&self) -> Option<(&str, &str)> {
        let host = self.also.as_deref().filter(|_| self.kind == EffectKind::Connect)?;
        Some((&self.value, host))
    }

    /// Using a tool on `value`, under a permission of its own; `*` where there is nothing to tell apart.
    #[must_use]
    pub fn using(key: impl Into<Cow<'static, str>>, value: impl Into<String>) -> Self {
        Self::new(EffectKind::Use, key.into(), value.into())
    }

    /// Marks it as not fully worked out, and says why.
    #[must_use]
    pub fn unproven(mut self, why: impl Into<String>) -> Self {
        self.unproven = Some(why.into());
        self
    }

    /// Lets only rules count that deny it, or ask about just this.
    #[must_use]
    pub fn mentioned(mut self) -> Self {
        self.weight = Weight::Mentioned;
        self
    }

    /// Says that only the beginning of its value is certain.
    #[must_use]
    pub fn certain_up_to(mut self, beginning: impl Into<String>) -> Self {
        self.certain = Some(beginning.into());
        self
    }

    /// The file it touches, if it touches one: what decides whether two calls may run at once.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        match self.kind {
            _ if self.is_anywhere() => None,
            EffectKind::Read | EffectKind::Write | EffectKind::Delete => {
                Some(PathBuf::from(self.also.as_ref().unwrap_or(&self.value)))
            }
            _ => None,
        }
    }

    /// Whether it leaves everything as it was.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        matches!(self.kind, EffectKind::Read)
    }
}
