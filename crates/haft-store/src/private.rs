//! Files and folders that only their owner can read.

use std::io;
use std::path::Path;

/// Makes the folder and those above it, as far as they are missing, for their owner alone.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes a file that was not there, for its owner alone.
pub(crate) fn make_file(path: &Path) -> io::Result<fs_err::File> {
    let mut options = fs_err::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    fs_err::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Sees to it that a database is its owner's alone, before SQLite opens or makes it.
///
/// SQLite gives the files beside a database the same rights, but a new database those of the umask.
/// Whatever fails here fails again when SQLite opens the file, and is told then.
pub(crate) fn secure(database: &Path) {
    match fs_err::metadata(database) {
        Ok(found) => close_to_others(database, &found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => drop(make_database(database)),
        Err(_) => {}
    }
}

/// Makes an empty database elsewhere and links it into place.
///
/// Closing any descriptor of a file drops the locks that this process has on it, also those that
/// SQLite holds in another thread. So none may be open under the final name.
fn make_database(path: &Path) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", uuid::Uuid::now_v7().simple()));
    let draft = path.with_file_name(name);
    drop(make_file(&draft)?);
    // Another process may have been faster, and some file systems know no links: SQLite copes.
    fs_err::hard_link(&draft, path).ok();
    fs_err::remove_file(&draft)
}

#[cfg(unix)]
fn close_to_others(path: &Path, found: &std::fs::Metadata) {
    use std::os::unix::fs::PermissionsExt;
    if found.is_file() && found.permissions().mode() & 0o077 != 0 {
        let owner_only = std::fs::Permissions::from_mode(0o600);
        fs_err::set_permissions(path, owner_only).ok();
    }
}

#[cfg(not(unix))]
fn close_to_others(_path: &Path, _found: &std::fs::Metadata) {}
