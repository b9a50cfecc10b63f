//! The drivers that Vulkan's loader finds, through which WebGPU reaches a GPU under Linux.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use super::entries;

#[derive(Debug)]
pub struct Driver {
    file: PathBuf,
    /// The Vulkan that it offers: `1.3.230`.
    pub api: Option<String>,
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        self.api.iter().try_for_each(|api| write!(f, " (Vulkan {api})"))
    }
}

/// The oldest Vulkan of Mesa with which WebGPU works: Mesa 25 offers it.
const LEAST_VULKAN: (u32, u32) = (1, 4);

impl Driver {
    pub fn name(&self) -> &str {
        self.file
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default()
    }

    /// Whether WebGPU can be expected to work with it. NVIDIA's own number their Vulkan otherwise.
    fn is_new(&self) -> bool {
        let api = self.api.as_deref().unwrap_or_default();
        let mut numbers = api.split('.').map_while(|number| number.parse::<u32>().ok());
        let offered = numbers.next().zip(numbers.next());
        self.name().starts_with("nvidia") || offered.is_none_or(|offered| offered >= LEAST_VULKAN)
    }
}

pub fn drivers() -> Vec<Driver> {
    let named = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"]
        .into_iter()
        .find_map(std::env::var_os);
    let folders = [
        "/usr/share/vulkan/icd.d",
        "/etc/vulkan/icd.d",
        "/usr/local/share/vulkan/icd.d",
    ];
    let files: Vec<_> = match &named {
        Some(named) => std::env::split_paths(named)
            .filter(|path| path.is_file())
            .collect(),
        None => folders
            .iter()
            .flat_map(|folder| entries(Path::new(folder)))
            .collect(),
    };
    files.into_iter().map(driver).collect()
}

fn driver(file: PathBuf) -> Driver {
    let text = fs::read_to_string(&file).unwrap_or_default();
    let description: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    Driver {
        file,
        api: description["ICD"]["api_version"].as_str().map(str::to_owned),
    }
}

/// A complaint if all Vulkan drivers here are too old for WebGPU.
pub fn outdated() -> Option<String> {
    let drivers = drivers();
    let api = drivers.iter().find_map(|driver| driver.api.as_deref())?;
    (!drivers.iter().any(Driver::is_new)).then(|| {
        format!("the Vulkan driver offers Vulkan {api}, and WebGPU needs 1.4, which Mesa has from 25 on")
    })
}
