//! Files that are written whole or not at all, read with a limit, and private where they must be.
//!
//! ```text
//! write name.part → fsync → rename to name → fsync of the folder
//! ```
//!
//! After each step a loss of power leaves the old file or the new one, never a mixture.

use std::{
    fs::{self, File, OpenOptions},
    io::{Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::error::{Error, Result};

/// Who may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Its owner only.
    Private,
    /// Anyone.
    Shared,
}

/// Writes a file whole, so that it survives a loss of power.
pub fn write(path: &Path, bytes: &[u8], access: Access) -> Result<()> {
    let part = part(path);
    let mode = if access == Access::Private { 0o600 } else { 0o644 };
    let written = || {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(mode);
        let mut file = options.open(&part)?;
        file.write_all(bytes)?;
        // Before the rename: a loss of power could otherwise leave the new name with no bytes.
        file.sync_all()?;
        fs::rename(&part, path)?;
        sync_folder(path)
    };
    written().map_err(|error| {
        // A partial file would take the space that its successor needs.
        let _ = fs::remove_file(&part);
        Error::file("write", path, &error)
    })
}

/// Reads a file of at most so many bytes.
pub fn read(path: &Path, limit: usize) -> Result<Vec<u8>> {
    let failed = |error| Error::file("read", path, &error);
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    // One byte more than allowed tells a file that is too large from one that just fits.
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > limit {
        return Err(Error::damaged(path, format!("more than {limit} bytes")));
    }
    Ok(bytes)
}

/// When a file was last written, if there is one.
#[must_use]
pub fn written(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|about| about.modified()).ok()
}

/// Reads a text of at most so many bytes.
pub fn read_text(path: &Path, limit: usize) -> Result<String> {
    let bytes = read(path, limit)?;
    String::from_utf8(bytes).map_err(|_| Error::damaged(path, "not a text"))
}

/// Makes a folder that only its owner can look into.
pub fn make_private_folder(path: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| Error::file("make", path, &error))
}

/// Makes names in the folder of a file survive a loss of power.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

fn part(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".part");
    path.with_file_name(name)
}

/// A claim on a folder that ends with the process, however it ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Claims a folder.
    pub fn of(folder: &Path) -> Result<Self> {
        let path = folder.join("lock");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&path).map_err(|error| Error::file("open", &path, &error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(fs::TryLockError::WouldBlock) => {
                Err(Error::InUse { path: folder.display().to_string() })
            }
            Err(fs::TryLockError::Error(error)) => Err(Error::file("lock", &path, &error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_private_file_is_its_owners_and_nothing_partial_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        write(&path, b"secret", Access::Private).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(read(&path, 6).unwrap(), b"secret");
        assert!(matches!(read(&path, 5), Err(Error::Damaged { .. })));
    }

    #[test]
    fn a_folder_has_one_user_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::of(folder.path()).unwrap();
        assert!(matches!(Lock::of(folder.path()), Err(Error::InUse { .. })));
        drop(first);
        assert!(Lock::of(folder.path()).is_ok());
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = write(&folder.path().join("no/such"), b"", Access::Shared).unwrap_err();
        assert!(error.to_string().contains("no/such"), "{error}");
    }
}
