//! Fetches all tables of 3 and 4 pieces, out of the sources of python-chess on PyPI, once into the cache folder.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use sha2::{Digest, Sha256};
use zeitnot_engine::network::folders;

use crate::common::skipped;

const REQUIREMENT: &str = "chess==1.11.2";
const ARCHIVE: &str = "chess-1.11.2.tar.gz";
const ARCHIVE_SHA256: &str = "a8b43e5678fdb3000695bdaa573117ad683761e5ca38e591c4826eba6d25bb39";
const TABLES_IN_ARCHIVE: &str = "chess-1.11.2/data/syzygy/regular";

/// Returns the folder with the tables; where they cannot be had it says that the test is skipped.
pub fn tables() -> Option<&'static str> {
    static FOLDER: LazyLock<Result<String, String>> = LazyLock::new(|| {
        let cache = folders::cache().ok_or("no cache folder is known; set ZEITNOT_CACHE_DIR")?;
        let folder = cache.join("syzygy-of-python-chess-1.11.2");
        if !folder.is_dir() {
            fetch(&cache, &folder)?;
        }
        Ok(folder
            .into_os_string()
            .into_string()
            .expect("the cache folder's name is UTF-8"))
    });
    FOLDER.as_deref().inspect_err(|why| skipped(why)).ok()
}

/// Downloads and unpacks in a folder of its own; only complete tables get their final name.
fn fetch(cache: &Path, destination: &Path) -> Result<(), String> {
    fs::create_dir_all(cache).unwrap_or_else(|error| panic!("cannot make {}: {error}", cache.display()));
    let work = tempfile::tempdir_in(cache).unwrap();
    let pip = [
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--no-binary",
        "chess",
        REQUIREMENT,
        "--dest",
        ".",
    ];
    python(&pip, work.path())?;
    let archive = fs::read(work.path().join(ARCHIVE)).unwrap();
    let hash: String = Sha256::digest(archive)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(hash, ARCHIVE_SHA256, "{ARCHIVE} is not the file that is known");
    python(&["-m", "tarfile", "-e", ARCHIVE, "."], work.path())?;
    let moved = fs::rename(work.path().join(TABLES_IN_ARCHIVE), destination);
    // Another process may have been faster.
    assert!(
        moved.is_ok() || destination.is_dir(),
        "{}: {moved:?}",
        destination.display()
    );
    Ok(())
}

fn python(args: &[&str], folder: &Path) -> Result<(), String> {
    let name = if cfg!(windows) { "python" } else { "python3" };
    let output = Command::new(name)
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output();
    let output = output.map_err(|error| format!("{name} is needed to fetch tables: {error}"))?;
    let said = || String::from_utf8_lossy(&output.stderr).into_owned();
    output
        .status
        .success()
        .then_some(())
        .ok_or_else(|| format!("the tables could not be fetched: {name} {args:?}: {}", said()))
}
