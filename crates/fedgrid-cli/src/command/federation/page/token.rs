//! The token of the page of an agent: a private file, made at the first start.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use fedgrid_zenoh::{
    disk::{self, Access},
    identity::{Hex, random_bytes},
};

use crate::command::federation::refused;
use fedgrid_lab::error::{Error, Result};

/// Shorter tokens can be guessed: 16 letters and digits are more than 2⁸⁰ to try.
const TOKEN_LETTERS: usize = 16;
/// A file with more bytes holds no token.
const MOST_TOKEN_BYTES: usize = 1 << 10;

/// What requests to a page must show.
#[derive(Debug, Clone)]
pub(super) struct PageToken {
    pub(super) text: String,
    pub(super) path: PathBuf,
    /// Whether it was made just now.
    pub(super) is_new: bool,
}

impl PageToken {
    /// That of a file which a person has made.
    pub(super) fn given(path: &Path) -> Result<Self> {
        let about =
            fs::metadata(path).map_err(|error| Error::file("read the token", path, &error))?;
        let mode = about.permissions().mode() & 0o777;
        if mode & 0o177 != 0 || mode & 0o400 == 0 {
            return Err(Error::input(format!(
                "the token in '{}' has mode {mode:04o}, which lets others read it; chmod 600 it",
                path.display()
            )));
        }
        let text = disk::read_text(path, MOST_TOKEN_BYTES).map_err(refused)?;
        let token = text.trim();
        if token.len() < TOKEN_LETTERS
            || !token.chars().all(|letter| letter.is_ascii_alphanumeric())
        {
            return Err(Error::input(format!(
                "the token in '{}' is not one word of {TOKEN_LETTERS} or more letters and digits; make one with \
                 openssl rand -hex 16",
                path.display()
            )));
        }
        Ok(Self { text: token.into(), path: path.into(), is_new: false })
    }

    /// That of a folder, which is made there if there is none yet.
    pub(super) fn kept(folder: &Path) -> Result<Self> {
        let path = folder.join("page-token");
        if path.exists() {
            return Self::given(&path);
        }
        disk::make_private_folder(folder).map_err(refused)?;
        let bytes: [u8; 16] = random_bytes().map_err(refused)?;
        let text = Hex(bytes).to_string();
        disk::write(&path, format!("{text}\n").as_bytes(), Access::Private).map_err(refused)?;
        Ok(Self { text, path, is_new: true })
    }
}
