//! Variables that change what programs do.

use super::Walk;
use crate::syntax::Span;

/// Names that the environment may already hand to programs. `*` stands for anything.
const INHERITED: &[&str] = &[
    "PATH", "HOME", "SHELL", "ENV", "CDPATH", "GLOBIGNORE", "SHELLOPTS", "BASHOPTS", "BASH_*", "PS0", "PS1",
    "PS2", "PS3", "PS4", "PROMPT_COMMAND", "EXECIGNORE", "FUNCNEST", "HISTFILE", "INPUTRC", "MAIL*",
    "POSIXLY_CORRECT", "TMPDIR", "TEXTDOMAIN*", "LD_*", "DYLD_*", "GIT_*", "*PAGER", "*EDITOR", "VISUAL",
    "BROWSER", "LESS", "LESS*", "MORE", "MANOPT", "PYTHON*", "PERL*", "RUBY*", "NODE_*", "JAVA_*", "_JAVA_*",
    "JDK_*", "MAKE*", "GNUMAKEFLAGS", "MFLAGS", "RUSTC*", "RUSTDOC*", "RUSTFLAGS", "CARGO_*", "TAR_OPTIONS",
    "GREP_*", "RIPGREP_*", "SSH_*", "SUDO_*", "XDG_*", "npm_*", "NPM_*", "VIMINIT", "EXINIT", "GCONV_PATH",
    "LOCPATH", "NLSPATH", "TERMINFO*", "TERMCAP", "TERMPATH", "OPENSSL_*", "SSL_*", "HOSTALIASES",
    "LOCALDOMAIN", "RES_OPTIONS", "DOCKER_*", "KUBECONFIG", "AWS_*", "CURL_HOME", "WGETRC", "NETRC",
    "DISPLAY", "DBUS_*", "FPATH", "ZDOTDIR", "TCL*", "GEM_*", "BUNDLE_*", "R_*", "LUA_*", "PHP*", "EMACS*",
    "AWKPATH", "AWKLIBPATH", "M2_HOME", "GRADLE_*", "MAVEN_*", "GOFLAGS", "GOPATH", "GOROOT", "GOBIN",
    "GO*EXEC", "GOENV", "GOTOOLCHAIN", "DEBUGINFOD_*", "GDB*", "SYSTEMD_*", "OLDPWD", "PWD", "OPTIND",
    "CC", "CXX", "CPP", "LD", "AR", "AS", "NM", "FC", "CFLAGS", "CXXFLAGS", "LDFLAGS", "CPPFLAGS",
    "http_proxy", "https_proxy", "all_proxy", "ftp_proxy", "*_PROXY", "PIP_*", "UV_*", "POETRY_*", "VIRTUAL_ENV",
    "CONDA_*", "YARN_*", "PNPM_*", "BUN_*", "DENO_*", "ELECTRON_*", "GPG*", "GNUPGHOME", "RSYNC_*", "CVS*",
    "SVN_*", "HG*", "ANSIBLE_*", "TF_*", "WATCHMAN_*", "FZF_*", "BAT_*", "JQ_*", "ACK_*", "ACKRC", "ZIPOPT",
    "UNZIP", "GZIP", "XZ_*", "BZIP*", "ZSTD_*", "PATCH_*", "SIMPLE_BACKUP_SUFFIX", "VERSION_CONTROL",
];

/// More shapes of names that programs take commands, options or files from when they are handed over.
const HANDED_OVER: &[&str] = &[
    "*PATH", "*_OPTIONS", "*OPTS", "*FLAGS", "*_COMMAND", "*_CMD", "*CMD", "*_WRAPPER", "*ASKPASS", "*PROXY",
    "*proxy", "*CONFIG", "*_CONFIG_*", "*RC", "*_HOME", "*_EXEC", "*_EXEC_*", "*_SHELL", "*PRELOAD*", "*_LIB",
    "*INIT", "*_PROG", "*_PROGRAM", "*_RUNNER", "*LINKER", "*_PLUGIN*", "*_LOADER", "*_HOOK*", "*_SCRIPT",
    "*_TOOL", "*_BIN", "*_CC", "*_CXX", "*_LD", "*_AR", "*_ARGS", "*VIEWER", "*_REQUIRE*",
];

/// Whether setting `name` may change what programs do.
fn is_weighty(name: &str, handed_over: bool) -> bool {
    let fits = |pattern: &&str| matches(pattern, name);
    INHERITED.iter().any(|pattern| fits(&pattern)) || (handed_over && HANDED_OVER.iter().any(|pattern| fits(&pattern)))
}

/// Matches a pattern with at most two stars.
fn matches(pattern: &str, name: &str) -> bool {
    let parts: Vec<&str> = pattern.split('*').collect();
    match parts.as_slice() {
        [whole] => name == *whole,
        [start, end] => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
        [start, middle, end] => name
            .strip_prefix(start)
            .and_then(|rest| rest.strip_suffix(end))
            .is_some_and(|rest| rest.contains(middle)),
        _ => false,
    }
}

impl Walk<'_> {
    /// Doubts where setting `name` may change what programs do. `handed_over` says that programs
    /// will see it for sure.
    pub(super) fn check_assigned(&mut self, name: &str, handed_over: bool, span: Span) {
        if is_weighty(name, handed_over) {
            self.doubt(format!("the variable `{name}` can change what programs do"), span);
        }
    }
}
