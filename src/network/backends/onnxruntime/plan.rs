//! All that one provider needs, in one list: what is here, and what `setup` is to fetch, with sizes.

use std::fmt;

use serde::Serialize;

use super::fetch::{self, FetchError, Package};
use super::finder::{self, LibraryError};
use super::nvidia::{self, Part};
use super::provider::Provider;
use super::runtime::eprint_message;
use crate::network::folders;

/// Returns why `provider` cannot be tried here, with a remedy; `None` where nothing is known to be missing.
pub(crate) fn missing(provider: Provider) -> Option<String> {
    if let Some(obstacle) = finder::obstacle(provider) {
        return Some(obstacle.to_string());
    }
    let remedy = Plan::here(provider).map_or_else(|error| Some(error.to_string()), |plan| plan.remedy());
    let without_builds = || match provider {
        Provider::MiGraphX => {
            "not installed; put an ONNX Runtime that is built with it beside the program".into()
        }
        _ => "not installed, and nothing is published for this system".to_owned(),
    };
    remedy.or_else(|| (!finder::is_installed(provider)).then(without_builds))
}

/// What a provider needs, in the order in which it is fetched.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Plan {
    #[serde(skip)]
    provider: Provider,
    items: Vec<Item>,
}

/// A file to fetch.
#[derive(Debug, Serialize)]
pub(crate) struct Item {
    package: &'static str,
    version: &'static str,
    /// Megabytes to download.
    size_mb: u32,
    is_here: bool,
    #[serde(skip)]
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Runtime,
    Plugin,
    Part(&'static Part),
}

impl Plan {
    /// Lists what `provider` needs on this machine.
    ///
    /// # Errors
    /// Fails if the library that the user names cannot be used.
    pub(crate) fn here(provider: Provider) -> Result<Plan, LibraryError> {
        let library = finder::find(provider, &mut Vec::new())?;
        let beside = library.as_ref().and_then(|library| library.path.parent());
        let folders = if nvidia::needs_cuda(provider) { nvidia::folders(beside) } else { Vec::new() };
        Ok(Plan::of(provider, fetch::own_os(), std::env::consts::ARCH, |kind| match kind {
            Kind::Runtime => library.is_some(),
            Kind::Plugin => provider.plugin().is_some_and(|plugin| plugin.find(beside).is_some()),
            Kind::Part(part) => part.is_here(&folders),
        }))
    }

    /// Lists what `provider` needs on another machine, on which nothing is installed.
    pub(crate) fn elsewhere(provider: Provider, os: &str, arch: &str) -> Plan {
        Plan::of(provider, os, arch, |_| false)
    }

    fn of(provider: Provider, os: &str, arch: &str, is_here: impl Fn(&Kind) -> bool) -> Plan {
        let item = |package: &'static Package, kind: Kind| {
            let size_mb = package.size_mb(os, arch)?;
            Some(Item {
                package: package.name,
                version: package.version,
                size_mb,
                is_here: is_here(&kind),
                kind,
            })
        };
        let runtime = Package::runtime_for(provider).and_then(|package| item(package, Kind::Runtime));
        let plugin = provider.plugin().and_then(|plugin| item(plugin.package, Kind::Plugin));
        let parts: &'static [Part] = if nvidia::needs_cuda(provider) { &nvidia::PARTS } else { &[] };
        let parts = parts.iter().filter_map(|part| item(part.package, Kind::Part(part)));
        Plan { provider, items: runtime.into_iter().chain(plugin).chain(parts).collect() }
    }

    /// Says what is not here and how to get it; `None` where nothing is missing that could be fetched.
    pub(crate) fn remedy(&self) -> Option<String> {
        let names: Vec<_> = self.missing().map(Item::to_string).collect();
        let Plan { provider, .. } = self;
        let remedy = format!("`zeitnot setup --provider {provider}` fetches what is missing");
        (!names.is_empty()).then(|| format!("not installed: {}; {remedy}", names.join(", ")))
    }

    /// Returns whether nothing is published that `provider` could be fetched from.
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns what is not here.
    pub(crate) fn missing(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| !item.is_here)
    }

    /// Megabytes to download.
    pub(crate) fn missing_mb(&self) -> u32 {
        self.missing().map(|item| item.size_mb).sum()
    }

    /// Fetches what is not here, one file after the other. What an earlier call has fetched is kept, so that a call after a failure
    /// goes on with the file that failed.
    ///
    /// # Errors
    /// Fails with the first file that cannot be fetched.
    pub(crate) fn fetch(&self) -> Result<(), LibraryError> {
        let count = self.missing().count();
        for (number, item) in (1..).zip(self.missing()) {
            eprint_message(format_args!("{number} of {count}: {item}"));
            self.fetch_item(item)?;
        }
        Ok(())
    }

    fn fetch_item(&self, item: &Item) -> Result<(), LibraryError> {
        match item.kind {
            Kind::Runtime => finder::find_or_fetch(self.provider).map(|_| ()),
            Kind::Plugin => {
                let plugin = self.provider.plugin();
                plugin.map_or(Ok(()), |plugin| plugin.find_or_fetch(self.provider, None).map(|_| ()))
            }
            Kind::Part(part) => {
                let cache = folders::cache().ok_or(FetchError::NoCacheFolder);
                let fetched = cache.and_then(|cache| {
                    fetch::fetch(part.package, self.provider, &cache, |folder| folder.is_dir())
                });
                fetched.map(|_| ()).map_err(|reason| LibraryError::PluginNotFetched {
                    package: part.package.name,
                    file: "its libraries".into(),
                    reason: reason.with_remedy(part.package),
                })
            }
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({} MB)", self.package, self.version, self.size_mb)
    }
}

/// A line for each file, and the sum of those that are not here.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Item { package, version, size_mb, is_here, .. } in &self.items {
            let note = if *is_here { "  is here" } else { "" };
            writeln!(f, "  {package:<36} {version:<12} {size_mb:>5} MB{note}")?;
        }
        let count = self.missing().count();
        let files = if count == 1 { "file" } else { "files" };
        if count > 0 { writeln!(f, "  {count} {files}, {} MB to fetch", self.missing_mb()) } else { Ok(()) }
    }
}
