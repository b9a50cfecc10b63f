//! Libraries that NVIDIA's providers need beside ONNX Runtime: CUDA and cuDNN.
//!
//! The provider's file names the libraries that it needs, so that builds with any version of CUDA are served.
//! They are loaded before the provider is, from where the system finds them or from our cache and the folders
//! of NVIDIA's wheels and installers. Windows gets the same folders on its search path instead.

use std::env;
use std::fs::File;
use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf::{DT_NEEDED, FileHeader64};
use object::read::ReadCache;
use object::read::elf::{Dyn, FileHeader};

use super::finder::{
    Library, LibraryError, MissingPart, fetched_folders, folders_beside_the_program, python_folders,
};
use super::process_environment;
use super::provider::Provider;
use crate::system::{entries, entries_named};

/// The file of cuDNN, which the provider's file does not name and loads when it meets the first convolution …
const CUDNN: &str = "libcudnn.so.9";
/// … and that of the compiler, which cuDNN loads.
const NVRTC: &str = "libnvrtc.so.13";

pub fn loads(name: &str) -> bool {
    ort::util::preload_dylib(name).is_ok()
}

pub(super) fn load_parts(library: &Library, provider: Provider) -> Result<(), LibraryError> {
    if provider != Provider::Cuda {
        return Ok(());
    }
    let folder = library.path.parent().unwrap_or(Path::new(""));
    if cfg!(windows) {
        process_environment::search_in(&folders(Some(folder)));
        return Ok(());
    }
    let named = provider
        .file_name()
        .and_then(|file| needed(&folder.join(file)).ok());
    let mut wanted: Vec<String> = named
        .into_iter()
        .flatten()
        .filter(|name| name.starts_with("libcu") || name.starts_with("libnv"))
        .chain([CUDNN.to_owned()])
        .collect();
    wanted.sort();
    wanted.dedup();
    // What is not needed at once may be missing: a build for another CUDA has another compiler.
    wanted.push(NVRTC.to_owned());
    wanted.retain(|name| !loads(name));
    if wanted.is_empty() {
        return Ok(());
    }
    let folders = folders(Some(folder));
    // One library may need another of the list: go round as long as that helps.
    loop {
        let before = wanted.len();
        wanted.retain(|name| {
            !folders
                .iter()
                .any(|folder| ort::util::preload_dylib(folder.join(name)).is_ok())
        });
        if wanted.len() == before {
            break;
        }
    }
    wanted.retain(|name| name != NVRTC);
    if wanted.is_empty() {
        return Ok(());
    }
    let part = |name: String| MissingPart::Library {
        words: describe_missing(&name, &folders),
        name,
    };
    Err(LibraryError::parts_missing(
        provider,
        wanted.into_iter().map(part).collect(),
    ))
}

pub(super) fn needed(path: &Path) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let data = ReadCache::new(File::open(path)?);
    let header = FileHeader64::<Endianness>::parse(&data)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, &data)?;
    let Some((entries, link)) = sections.dynamic(endian, &data)? else {
        return Ok(Vec::new());
    };
    let strings = sections.strings(endian, &data, link)?;
    let names = entries.iter().filter(|entry| entry.tag(endian) == DT_NEEDED);
    names
        .map(|entry| Ok(String::from_utf8_lossy(entry.string(endian, strings)?).into_owned()))
        .collect()
}

/// Where libraries lie below the folder of an installation or of a wheel, under Linux and under Windows.
const LINUX_FOLDERS: [&str; 4] = [
    "lib64",
    "lib",
    "targets/x86_64-linux/lib",
    "targets/sbsa-linux/lib",
];
const WINDOWS_FOLDERS: [&str; 3] = ["bin", "bin/x64", "bin/x86_64"];

/// The folders of the program and of our cache, and those into which NVIDIA's wheels and installers
/// put libraries.
pub fn folders(library_folder: Option<&Path>) -> Vec<PathBuf> {
    // A wheel has the library in site-packages/onnxruntime/capi.
    let beside = library_folder
        .and_then(|folder| folder.ancestors().nth(2))
        .map(Path::to_path_buf);
    let mut folders = folders_beside_the_program();
    folders.extend(fetched_folders(|package| package.starts_with("nvidia-")));
    let variables = ["CUDA_PATH", "CUDA_HOME", "CUDNN_PATH"];
    let roots = variables
        .into_iter()
        .filter_map(env::var_os)
        .map(PathBuf::from)
        .chain(installed_versions());
    let sites: Vec<_> = beside
        .into_iter()
        .chain(python_folders().iter().cloned())
        .collect();
    folders.extend(folders_of(&sites, &roots.collect::<Vec<_>>(), cfg!(windows)));
    folders.retain(|folder| folder.is_dir());
    folders
}

fn folders_of(sites: &[PathBuf], roots: &[PathBuf], is_windows: bool) -> Vec<PathBuf> {
    let below: &[&str] = if is_windows {
        &WINDOWS_FOLDERS
    } else {
        &LINUX_FOLDERS
    };
    let wheels: Vec<_> = sites
        .iter()
        .flat_map(|site| entries(&site.join("nvidia")))
        .collect();
    let in_roots = wheels
        .iter()
        .chain(roots)
        .flat_map(|root| below.iter().map(|folder| root.join(folder)));
    in_roots.collect()
}

/// `/usr/local/cuda`, `/usr/local/cuda-13.1` and the like.
fn installed_versions() -> Vec<PathBuf> {
    let is_cuda = |name: &str| name.starts_with("cuda");
    ["/usr/local", "/opt"]
        .iter()
        .flat_map(|folder| entries_named(Path::new(folder), is_cuda))
        .collect()
}

fn describe_missing(name: &str, folders: &[PathBuf]) -> String {
    let (stem, version) = name.split_once(".so.").unwrap_or((name, ""));
    let text = match stem {
        "libcudnn" => format!("cuDNN {version} ({name})"),
        _ => format!("CUDA's {name}"),
    };
    let start = format!("{stem}.so.");
    let others = folders
        .iter()
        .flat_map(|folder| entries_named(folder, |file| file.starts_with(&start)));
    let others: Vec<_> = others.map(|path| path.display().to_string()).collect();
    if others.is_empty() {
        text
    } else {
        format!("{text} (found {}, which is another version)", others.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn missing_parts_are_named_with_other_versions() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("libcublas.so.12");
        fs::write(&other, "").unwrap();
        let folders = [folder.path().to_path_buf()];
        assert_eq!(describe_missing(CUDNN, &folders), "cuDNN 9 (libcudnn.so.9)");
        let other = format!(
            "CUDA's libcublas.so.13 (found {}, which is another version)",
            other.display()
        );
        assert_eq!(describe_missing("libcublas.so.13", &folders), other);
    }

    #[test]
    fn parts_are_found_in_the_folders_of_wheels_and_installers() {
        let site = tempfile::tempdir().unwrap();
        let [wheel, root] = ["nvidia/cu13", "CUDA"].map(|name| site.path().join(name));
        fs::create_dir_all(&wheel).unwrap();
        let sites = [site.path().to_path_buf()];
        let of = |is_windows| folders_of(&sites, std::slice::from_ref(&root), is_windows);
        for folder in [
            wheel.join("bin/x86_64"),
            wheel.join("bin"),
            root.join("bin"),
            root.join("bin/x64"),
        ] {
            assert!(
                of(true).contains(&folder) && !of(false).contains(&folder),
                "{}",
                folder.display()
            );
        }
        for folder in [wheel.join("lib"), root.join("lib64")] {
            assert!(
                of(false).contains(&folder) && !of(true).contains(&folder),
                "{}",
                folder.display()
            );
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_library_tells_what_it_needs() {
        let program = env::current_exe().unwrap();
        assert!(
            needed(&program)
                .unwrap()
                .iter()
                .any(|name| name.starts_with("libc.so"))
        );
        let folder = tempfile::tempdir().unwrap();
        let junk = folder.path().join("junk.so");
        fs::write(&junk, "no library").unwrap();
        assert!(needed(&junk).is_err());
    }
}
