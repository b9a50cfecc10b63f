//! All files of a provider: what is here, and what to fetch.

use std::fmt;
use std::path::PathBuf;

use anyhow::{Result, bail};
use serde::Serialize;

use super::fetch::Fetcher;
use super::machine::obstacle;
use super::packages::{Package, own_os};
use zeitnot_engine::network::backends::onnxruntime::finder::{self, PATH_VARIABLE, Unusable};
use zeitnot_engine::network::backends::onnxruntime::{LibraryError, Provider, nvidia};
use zeitnot_engine::network::folders;

/// Why `provider` cannot be tried here, with a remedy.
pub(crate) fn missing(provider: Provider) -> Option<String> {
    if let Some(obstacle) = obstacle(provider) {
        return Some(obstacle.to_string());
    }
    let remedy = Plan::here(provider).map_or_else(|error| Some(error.to_string()), |plan| plan.remedy());
    let without_builds = || "not installed, and nothing is published for this system".to_owned();
    remedy.or_else(|| (!finder::is_installed(provider)).then(without_builds))
}

/// In the order of fetching.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Plan {
    #[serde(skip)]
    provider: Provider,
    items: Vec<Item>,
    /// Libraries that are here and cannot be used.
    #[serde(skip)]
    refused: Vec<Unusable>,
}

#[derive(Debug, Serialize)]
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

#[derive(Clone, Copy, Debug)]
enum Kind {
    Runtime,
    Plugin,
    Part,
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
        let found = |kind, package: &Package| match kind {
            Kind::Runtime => library.as_ref().map(|library| library.path.clone()),
            Kind::Plugin => plugin.clone(),
            Kind::Part => package.is_here(&folders).then(PathBuf::new),
        };
        let plan = Plan::of(provider, own_os(), std::env::consts::ARCH, found);
        Ok(Plan { refused, ..plan })
    }

    /// For another machine without anything installed.
    pub(crate) fn elsewhere(provider: Provider, os: &str, arch: &str) -> Plan {
        Plan::of(provider, os, arch, |_, _| None)
    }

    fn of(
        provider: Provider,
        os: &str,
        arch: &str,
        found: impl Fn(Kind, &Package) -> Option<PathBuf>,
    ) -> Plan {
        let runtime = Package::runtime(provider).map(|package| (Kind::Runtime, package));
        let plugin = Package::plugin(provider).map(|package| (Kind::Plugin, package));
        let parts = Package::parts(provider).map(|package| (Kind::Part, package));
        let cache = folders::cache();
        let is_current = |file: &PathBuf, package: &Package| {
            let own = cache.as_ref().filter(|cache| file.starts_with(cache));
            own.is_none_or(|cache| file.starts_with(package.destination(cache)))
        };
        let item = |(kind, package): (Kind, &'static Package)| {
            let size_mb = package.wheel(os, arch)?.size_mb;
            let Package { name, version, .. } = *package;
            let found = found(kind, package);
            let (is_usable, is_here) = (
                found.is_some(),
                found.is_some_and(|file| is_current(&file, package)),
            );
            Some(Item {
                name,
                version,
                size_mb,
                is_here,
                is_usable,
                package,
                kind,
            })
        };
        let items = runtime
            .into_iter()
            .chain(plugin)
            .chain(parts)
            .filter_map(item)
            .collect();
        Plan {
            provider,
            items,
            refused: Vec::new(),
        }
    }

    /// What is missing and how to get it. `None` where nothing fetchable is missing.
    pub(crate) fn remedy(&self) -> Option<String> {
        let missing = self.items.iter().filter(|item| !item.is_usable);
        let names: Vec<_> = missing.map(Item::to_string).collect();
        let provider = self.provider;
        let remedy = format!("`zeitnot setup --provider {provider}` fetches what is missing");
        (!names.is_empty()).then(|| format!("not installed: {}; {remedy}", names.join(", ")))
    }

    /// Nothing is published for `provider`.
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(crate) fn missing(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| !item.is_here)
    }

    /// Up to the first failure. Fetched files are kept.
    pub(crate) fn fetch(&self, fetcher: &Fetcher<'_>) -> Result<()> {
        let count = self.missing().count();
        for (number, item) in (1..).zip(self.missing()) {
            fetcher.tell(&format_args!("{number} of {count}: {item}"));
            self.fetch_item(item, fetcher)?;
        }
        Ok(())
    }

    fn fetch_item(&self, item: &Item, fetcher: &Fetcher<'_>) -> Result<()> {
        let Item {
            package, name, kind, ..
        } = *item;
        let plugin = self
            .provider
            .plugin()
            .map(|plugin| plugin.file_name())
            .unwrap_or_default();
        let fetched = fetcher.fetch(package, |folder| match kind {
            Kind::Runtime => finder::has_library(folder),
            Kind::Plugin => folder.join(&plugin).is_file(),
            Kind::Part => folder.is_dir(),
        });
        let Err(error) = fetched else { return Ok(()) };
        let reason = error.with_remedy(package);
        let found = finder::refused_suffix(&self.refused);
        let file = match kind {
            Kind::Runtime => bail!(
                "found no ONNX Runtime{found}, and fetched none: {reason}. Or put ONNX Runtime 1.24 or newer beside \
                 the program, or its path into {PATH_VARIABLE}"
            ),
            Kind::Plugin => &*plugin,
            Kind::Part => "its libraries",
        };
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
        for Item {
            name,
            version,
            size_mb,
            is_here,
            ..
        } in &self.items
        {
            let note = if *is_here { "  is here" } else { "" };
            writeln!(f, "  {name:<36} {version:<12} {size_mb:>5} MB{note}")?;
        }
        let (count, megabytes): (usize, u32) = self
            .missing()
            .fold((0, 0), |(count, sum), item| (count + 1, sum + item.size_mb));
        let files = if count == 1 { "file" } else { "files" };
        if count > 0 {
            writeln!(f, "  {count} {files}, {megabytes} MB to fetch")
        } else {
            Ok(())
        }
    }
}
