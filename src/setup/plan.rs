//! What a provider needs: what is here, and what to fetch.

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};
use itertools::Itertools;
use serde::Serialize;

use super::fetch::Fetcher;
use super::machine::obstacle;
use super::packages::{Package, own_os};
use crate::output::eprint_message;
use zeitnot_engine::network::backends::onnxruntime::finder::{self, PATH_VARIABLE, Unusable};
use zeitnot_engine::network::backends::onnxruntime::{LibraryError, Provider, nvidia};
use zeitnot_engine::network::folders;
use zeitnot_engine::note::counted;

/// Why `provider` cannot be tried here, with a remedy.
pub(crate) fn missing(provider: Provider) -> Option<String> {
    if let Some(obstacle) = obstacle(provider) {
        return Some(obstacle.to_string());
    }
    let plan = match Plan::here(provider) {
        Err(error) => return Some(error.to_string()),
        Ok(plan) => plan,
    };
    let missing = plan.items.iter().filter(|item| !item.is_usable).join(", ");
    if !missing.is_empty() {
        return Some(format!(
            "lacks {missing}; `zeitnot setup --provider {provider}` fetches what is missing"
        ));
    }
    (!finder::is_installed(provider)).then(|| "nothing is published for this system".into())
}

/// In the order of fetching.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Plan {
    #[serde(skip)]
    provider: Provider,
    items: Vec<Item>,
    /// Libraries that are here and cannot be used.
    #[serde(skip)]
    refused: Vec<Unusable>,
}

#[derive(Serialize)]
pub(crate) struct Item {
    #[serde(rename = "package")]
    name: &'static str,
    version: &'static str,
    size_mb: u32,
    /// In our cache in this version.
    is_here: bool,
    /// Here in any usable version.
    #[serde(skip)]
    is_usable: bool,
    #[serde(skip)]
    package: &'static Package,
    #[serde(skip)]
    kind: Kind,
}

enum Kind {
    Runtime,
    Plugin,
    Part,
}

/// Ours only in today's version.
fn is_current(file: &Path, package: &Package) -> bool {
    let own = folders::cache().filter(|cache| file.starts_with(cache));
    own.is_none_or(|cache| file.starts_with(package.destination(&cache)))
}

impl Plan {
    /// Our cache counts only in today's version. Fails if the library that the user names cannot be used.
    pub(crate) fn here(provider: Provider) -> Result<Plan, LibraryError> {
        let mut refused = Vec::new();
        let library = finder::find(provider, &mut refused)?;
        let beside = library.as_ref().and_then(|library| library.path.parent());
        let plugin = provider
            .plugin()
            .and_then(|plugin| finder::plugin_file(plugin, beside));
        let folders = if provider == Provider::Cuda {
            nvidia::folders(beside)
        } else {
            Vec::new()
        };
        let library = library.as_ref().map(|library| &*library.path);
        let mut plan = Plan::elsewhere(provider, own_os(), std::env::consts::ARCH);
        plan.refused = refused;
        for item in &mut plan.items {
            let file = match item.kind {
                Kind::Runtime => library,
                Kind::Plugin => plugin.as_deref(),
                Kind::Part => {
                    item.is_usable = item.package.is_here(&folders);
                    item.is_here = item.is_usable;
                    continue;
                }
            };
            item.is_usable = file.is_some();
            item.is_here = file.is_some_and(|file| is_current(file, item.package));
        }
        Ok(plan)
    }

    /// For another machine without anything installed.
    pub(crate) fn elsewhere(provider: Provider, os: &str, arch: &str) -> Plan {
        let runtime = Package::runtime(provider).map(|package| (Kind::Runtime, package));
        let plugin = Package::plugin(provider).map(|package| (Kind::Plugin, package));
        let parts = Package::parts(provider).map(|package| (Kind::Part, package));
        let mut items = Vec::new();
        for (kind, package) in runtime.into_iter().chain(plugin).chain(parts) {
            let Some(wheel) = package.wheel(os, arch) else {
                continue;
            };
            items.push(Item {
                name: package.name,
                version: package.version,
                size_mb: wheel.size_mb,
                is_here: false,
                is_usable: false,
                package,
                kind,
            });
        }
        Plan {
            provider,
            items,
            refused: Vec::new(),
        }
    }

    /// Nothing is published for `provider`.
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(crate) fn missing(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| !item.is_here)
    }

    /// Up to the first failure. Fetched files are kept.
    pub(crate) fn fetch(&self, fetcher: &Fetcher) -> Result<()> {
        let count = self.missing().count();
        for (number, item) in (1..).zip(self.missing()) {
            eprint_message(format_args!("{number} of {count}: {item}"));
            self.fetch_item(item, fetcher)?;
        }
        Ok(())
    }

    fn fetch_item(&self, item: &Item, fetcher: &Fetcher) -> Result<()> {
        let plugin = self.provider.plugin();
        let plugin = plugin.map(|plugin| plugin.file_name()).unwrap_or_default();
        let fetched = fetcher.fetch(item.package, |folder| match item.kind {
            Kind::Runtime => finder::has_library(folder),
            Kind::Plugin => folder.join(&plugin).is_file(),
            Kind::Part => folder.is_dir(),
        });
        let Err(error) = fetched else { return Ok(()) };
        let reason = error.with_remedy(item.package);
        let file = match item.kind {
            Kind::Runtime => bail!(
                "found no ONNX Runtime{}, and fetched none: {reason}. Or put ONNX Runtime 1.24 or newer beside the \
                 program, or its path into {PATH_VARIABLE}",
                finder::refused_suffix(&self.refused)
            ),
            Kind::Plugin => &*plugin,
            Kind::Part => "its libraries",
        };
        let name = item.name;
        bail!("{name} is not installed and was not fetched: {reason}. Or put {file} beside the program")
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({} MB)", self.name, self.version, self.size_mb)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for item in &self.items {
            let Item {
                name,
                version,
                size_mb,
                ..
            } = item;
            let note = if item.is_here { "  is here" } else { "" };
            writeln!(f, "  {name:<36} {version:<12} {size_mb:>5} MB{note}")?;
        }
        let megabytes: u32 = self.missing().map(|item| item.size_mb).sum();
        if megabytes > 0 {
            let files = counted(self.missing().count(), "file");
            writeln!(f, "  {files}, {megabytes} MB to fetch")?;
        }
        Ok(())
    }
}
