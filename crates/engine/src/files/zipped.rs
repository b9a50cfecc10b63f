//! Reads one file of a zip archive.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::Crc;
use flate2::read::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

use super::Watched;
use super::kind::{Content, without_compression};

pub(super) struct Member {
    pub(super) name: String,
    pub(super) content: Content,
    pub(super) compressed: u64,
    pub(super) notes: Vec<String>,
}

/// Opens the first file with the first of the `endings` that any has, else the first `.txt`.
///
/// # Errors
/// Fails if there is none, or the archive cannot be read.
pub fn open(path: &Path, endings: &[&str]) -> io::Result<Member> {
    let archive = ZipArchive::new(File::open(path)?).map_err(damaged)?;
    let name = |index| archive.name_for_index(index).transpose().map_err(damaged);
    let names = (0..archive.len()).map(|index| Ok(name(index)?.unwrap_or_default().into_owned()));
    let names: Vec<_> = names.collect::<io::Result<_>>()?;
    let find = |ending: &&str| {
        let plain = names.iter().map(|name| without_compression(name));
        plain
            .into_iter()
            .position(|name| name.ends_with(*ending) && !is_hidden(&name))
    };
    let chosen = endings.iter().chain(&[".txt"]).find_map(find).ok_or_else(|| {
        let found = if names.is_empty() {
            "nothing".into()
        } else {
            names.join(", ")
        };
        let text = format!(
            "no file in this zip archive ends in {}; it has {found}",
            endings.join(" or ")
        );
        io::Error::new(ErrorKind::InvalidInput, text)
    })?;
    let ignored = names
        .iter()
        .enumerate()
        .filter(|(index, name)| *index != chosen && !name.ends_with('/'));
    let ignored: Vec<_> = ignored.map(|(_, name)| name.as_str()).collect();
    let note = (!ignored.is_empty()).then(|| {
        format!(
            "{}: {} is read, ignored: {}",
            path.display(),
            names[chosen],
            ignored.join(", ")
        )
    });
    let (content, compressed) = content(archive, chosen)?;
    Ok(Member {
        name: names[chosen].clone(),
        content,
        compressed,
        notes: note.into_iter().collect(),
    })
}

fn is_hidden(name: &str) -> bool {
    name.split('/')
        .any(|part| part.starts_with('.') || part == "__macosx")
}

/// A file's content, and the bytes that it takes. The archive would only lend it.
fn content(mut archive: ZipArchive<File>, index: usize) -> io::Result<(Content, u64)> {
    let member = archive.by_index(index).map_err(damaged)?;
    let (method, expected, size) = (member.compression(), member.crc32(), member.compressed_size());
    let start = member.data_start();
    drop(member);
    let mut file = archive.into_inner();
    file.seek(SeekFrom::Start(start.unwrap_or_default()))?;
    let compressed = file.take(size);
    let source: Content = match method {
        CompressionMethod::Stored => Box::new(compressed),
        CompressionMethod::Deflated => Box::new(DeflateDecoder::new(compressed)),
        other => {
            return Err(damaged(format!(
                "{other} is not a compression that Zeitnot reads"
            )));
        }
    };
    let mut sum = Crc::new();
    let see = move |read: &[u8]| {
        sum.update(read);
        if read.is_empty() && sum.sum() != expected {
            return Err(damaged("its checksum is another"));
        }
        Ok(())
    };
    Ok((Box::new(Watched { source, see }), size))
}

fn damaged(reason: impl Display) -> io::Error {
    io::Error::new(
        ErrorKind::InvalidData,
        format!("the zip archive cannot be read: {reason} (unpack it with 7z x, and name what is in it)"),
    )
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use super::*;

    fn archive(files: &[(&str, &str)]) -> Vec<u8> {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, text) in files {
            let options = zip::write::SimpleFileOptions::default();
            match name.strip_suffix('/') {
                Some(folder) => zip.add_directory(folder, options).unwrap(),
                None => zip.start_file(*name, options).unwrap(),
            }
            zip.write_all(text.as_bytes()).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    fn read(bytes: &[u8]) -> io::Result<(String, String, Vec<String>)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zip");
        std::fs::write(&path, bytes).unwrap();
        let mut member = open(&path, &[".pgn", ".epd"])?;
        let mut text = String::new();
        member.content.read_to_string(&mut text)?;
        let folder = format!("{}/", folder.path().display());
        Ok((
            member.name,
            text,
            member
                .notes
                .iter()
                .map(|note| note.replace(&folder, ""))
                .collect(),
        ))
    }

    /// A regression: the first entry was read, which often is a folder.
    #[test]
    fn the_book_is_found_and_what_is_ignored_is_said() {
        let files = [
            ("books/", ""),
            ("books/readme.txt", "see"),
            ("__MACOSX/._a.epd", "x"),
            ("books/A.EPD", "8/8"),
        ];
        let (name, text, notes) = read(&archive(&files)).unwrap();
        assert_eq!((name.as_str(), text.as_str()), ("books/A.EPD", "8/8"));
        assert_eq!(
            notes,
            ["a.zip: books/A.EPD is read, ignored: books/readme.txt, __MACOSX/._a.epd"]
        );
        assert_eq!(read(&archive(&[("a.pgn", "*")])).unwrap().2, [""; 0]);
        assert_eq!(
            read(&archive(&[("a.md", ""), ("a.txt", "*")])).unwrap().0,
            "a.txt"
        );
        assert_eq!(
            read(&archive(&[("a.epd", "8/8"), ("b.pgn", "*")])).unwrap().0,
            "b.pgn",
            "the order of the endings"
        );
        let error = read(&archive(&[("a.pdf", "")])).unwrap_err().to_string();
        assert_eq!(
            error,
            "no file in this zip archive ends in .pgn or .epd; it has a.pdf"
        );
    }

    #[test]
    fn damage_is_an_error() {
        let text = "1. e4 e5 *\n".repeat(100);
        let mut bytes = archive(&[("a.pgn", &text)]);
        let whole = bytes.clone();
        // Within the compressed text, behind the header of 30 bytes and the name.
        bytes[45] ^= 0x10;
        assert!(read(&bytes).is_err());
        assert!(
            read(&whole[..whole.len() / 2])
                .unwrap_err()
                .to_string()
                .contains("cannot be read")
        );
    }
}
