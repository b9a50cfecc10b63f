//! Parses the arguments of one engine: `--a 'name=new,nodes=200,TimeManager=smooth(mle-mlh),CPuct=1.9'`.

use crate::engine::Settings;
use crate::lab::matches::{ForeignCommand, SideLimit};
use crate::time::NoTimeControl;
use crate::tools::Failure;

/// The arguments of one engine.
#[derive(Clone, Debug)]
pub(super) struct SideArgs {
    /// The name in tables and PGN.
    pub(super) name: String,
    /// Its own limit, if it has one.
    pub(super) limit: Option<SideLimit>,
    /// All its options.
    pub(super) settings: Settings,
    /// The program that plays in the place of this one.
    pub(super) foreign: Option<ForeignCommand>,
    /// True if the user has chosen the name.
    pub(super) is_named: bool,
}

impl SideArgs {
    /// Parses `text`, which changes some of the `common` options; `letter` names the engine if nothing else does.
    ///
    /// # Errors
    /// [`Failure::Input`] if an entry has no value, or its name or value is not accepted.
    pub(super) fn parse(text: &str, common: &Settings, letter: &str) -> Result<SideArgs, Failure> {
        let mut side = SideArgs {
            name: String::new(),
            limit: None,
            settings: common.clone(),
            foreign: None,
            is_named: false,
        };
        let mut named = None;
        let program = entries(text).into_iter().filter_map(split_entry).find(|(key, _)| *key == "cmd");
        side.foreign = program.map(|(_, program)| ForeignCommand {
            program: program.to_owned(),
            arguments: Vec::new(),
            options: Vec::new(),
        });
        for entry in entries(text) {
            let (key, value) =
                split_entry(entry).ok_or_else(|| entry_error(letter, entry, "write Name=Value"))?;
            match key {
                "name" => named = Some(value.to_owned()),
                "nodes" => {
                    let nodes = value.parse().ok().filter(|&nodes| nodes > 0);
                    let nodes =
                        nodes.ok_or_else(|| entry_error(letter, entry, "expected a number above 0"))?;
                    side.limit = Some(SideLimit::Nodes(nodes));
                }
                "tc" => {
                    let control =
                        value.parse().map_err(|error: NoTimeControl| entry_error(letter, entry, error))?;
                    side.limit = Some(SideLimit::Clock(control));
                }
                "cmd" => {}
                _ if side.foreign.is_some() => {
                    side.set_foreign(key, value).map_err(|reason| entry_error(letter, entry, reason))?
                }
                _ => side.settings.set(key, value).map_err(|error| entry_error(letter, entry, error))?,
            }
        }
        let described = if text.trim().is_empty() { letter.to_owned() } else { text.trim().to_owned() };
        side.is_named = named.is_some();
        side.name = named.unwrap_or(described);
        Ok(side)
    }

    /// Takes an entry for an engine of others.
    fn set_foreign(&mut self, key: &str, value: &str) -> Result<(), &'static str> {
        let Some(foreign) = &mut self.foreign else { return Ok(()) };
        match (key, key.strip_prefix("option.")) {
            ("args", _) => foreign.arguments = value.split_whitespace().map(str::to_owned).collect(),
            (_, Some(name)) => foreign.options.push((name.to_owned(), value.to_owned())),
            _ => return Err("the engine of cmd= takes name=, nodes=, tc=, args= and option.NAME="),
        }
        Ok(())
    }
}

fn entry_error(letter: &str, entry: &str, reason: impl std::fmt::Display) -> Failure {
    Failure::Input(format!("--{}: {entry}: {reason}", letter.to_lowercase()))
}

/// Splits `Name=Value`, the value with or without quotes.
fn split_entry(entry: &str) -> Option<(&str, &str)> {
    let (key, value) = entry.split_once('=')?;
    let value = value.trim();
    let quoted = ['"', '\''].iter().find_map(|&quote| value.strip_prefix(quote)?.strip_suffix(quote));
    Some((key.trim(), quoted.unwrap_or(value)))
}

/// Splits a list at commas outside parentheses and quotes; empty parts are left out.
fn entries(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quote) = (Vec::new(), 0, 0_i32, None);
    for (index, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) => quote = Some(open).filter(|&open| open != c),
            (None, '"' | '\'') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            (None, ',') if depth <= 0 => {
                parts.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SideArgs, Failure> {
        let mut common = Settings::default();
        common.search.cpuct = 2.0;
        SideArgs::parse(text, &common, "A")
    }

    #[test]
    fn options_override_the_common_ones() {
        let side = parse("TimeManager=smooth(mle-legacy(midpoint=50),x=1), nodes=7,fpu-value=.5").unwrap();
        assert_eq!(side.settings.time.time_manager.as_str(), "smooth(mle-legacy(midpoint=50),x=1)");
        assert_eq!((side.settings.search.cpuct, side.settings.search.fpu_value), (2.0, 0.5));
        assert_eq!(side.limit, Some(SideLimit::Nodes(7)));
        assert!(side.name.starts_with("TimeManager="));
    }

    #[test]
    fn names_and_quotes() {
        let side = parse("name=new one,weights=\"a,b.pb.gz\",tc=5+0.1").unwrap();
        assert_eq!(
            (side.name.as_str(), side.settings.network.weights_file.as_str()),
            ("new one", "a,b.pb.gz")
        );
        assert_eq!(side.limit.unwrap().to_string(), "5+0.1");
        assert_eq!(parse("").unwrap().name, "A");
    }

    #[test]
    fn engines_of_others_have_options_of_their_own() {
        let side =
            parse("option.Move Overhead=10,cmd='/a b/sf',args=-x 1,tc=1+0.1,option.UCI_Elo=1500").unwrap();
        let foreign = side.foreign.unwrap();
        assert_eq!((foreign.program.as_str(), foreign.arguments.join("|").as_str()), ("/a b/sf", "-x|1"));
        assert_eq!(foreign.options[0], ("Move Overhead".to_owned(), "10".to_owned()));
        assert_eq!((foreign.options.len(), side.is_named), (2, false));
    }

    #[test]
    fn faults_name_the_entry() {
        let fault = |text| parse(text).unwrap_err().to_string();
        assert_eq!(fault("CPuct"), "--a: CPuct: write Name=Value");
        assert_eq!(fault("Cpuctt=1"), "--a: Cpuctt=1: unknown option \"Cpuctt\"; did you mean CPuct?");
        assert!(fault("cmd=sf,CPuct=1").contains("option.NAME="), "{}", fault("cmd=sf,CPuct=1"));
        assert_eq!(fault("nodes=0"), "--a: nodes=0: expected a number above 0");
        assert!(fault("tc=x").contains("no time control"));
    }
}
