//! Files that this process alone writes, and how it keeps others out.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// What came of locking a file until it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    Held,
    /// By another process.
    Taken,
    /// The drive knows no locks, as Lustre and NFS may, which [`WITHOUT_LOCKS`] tells.
    Unknown,
}

pub const WITHOUT_LOCKS: &str =
    "this drive knows no locks: nothing keeps a second process out, and two would spoil what both write";

pub fn lock(file: &File) -> Lock {
    match file.try_lock() {
        Ok(()) => Lock::Held,
        Err(TryLockError::WouldBlock) => Lock::Taken,
        Err(TryLockError::Error(_)) => Lock::Unknown,
    }
}

/// Opens a file of ours, and no link, pipe or folder that others may have put in its place.
pub fn open_regular(path: &Path, options: &OpenOptions) -> io::Result<File> {
    if path.symlink_metadata().is_ok_and(|known| !known.is_file()) {
        return Err(io::Error::other(
            "it is a link, a pipe or a folder in the place of a file; remove it",
        ));
    }
    options.open(path)
}

#[cfg(unix)]
fn is_same(file: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (file.dev(), file.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

/// A file to which this process alone appends. It is an error if the file is gone, if another one has its
/// place, or if somebody else has written to it, as where a drive knows no locks.
#[derive(Debug)]
pub struct OwnFile {
    pub(crate) path: PathBuf,
    file: File,
    len: u64,
}

impl OwnFile {
    /// Takes a file that is open for writing, at its end behind `len` bytes.
    pub fn new(path: &Path, file: File, len: u64) -> OwnFile {
        OwnFile {
            path: path.to_owned(),
            file,
            len,
        }
    }

    /// Opens or makes a file, of which what is behind `len` bytes is lost.
    pub(crate) fn open(path: &Path, len: u64) -> io::Result<OwnFile> {
        let options = File::options().write(true).create(true).truncate(false).clone();
        let mut file = open_regular(path, &options)?;
        file.set_len(len)?;
        file.seek(SeekFrom::Start(len))?;
        Ok(OwnFile::new(path, file, len))
    }

    pub fn append(&mut self, content: &[u8]) -> io::Result<()> {
        let there = self.path.metadata()?;
        if !is_same(&there, &self.file.metadata()?) {
            return Err(io::Error::other("another file has taken its place"));
        }
        if there.len() != self.len {
            return Err(io::Error::other("another process writes to it"));
        }
        self.file.write_all(content)?;
        self.len += content.len() as u64;
        Ok(())
    }

    /// Waits until the disk has what was written.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}
