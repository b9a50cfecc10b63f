//! Nested parameter lists, the grammar of `TimeManager` and `BackendOptions`.
//!
//! `smooth(init-nps=20000,mle-legacy(midpoint=51.5))` is a list of one entry named `smooth`, whose own list
//! holds a value and another entry. As in Lc0, an entry is `key=value`, `name(entries)` or a bare `name`, and
//! a list may be anonymous: `(gpu=0),(gpu=1)`.

use std::fmt;

use thiserror::Error;

/// Why a parameter string was refused, and what would be right.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParamError {
    #[error("{reason} at character {position} of \"{text}\"")]
    Syntax {
        text: String,
        position: usize,
        reason: String,
    },
    #[error("unknown {kind} \"{name}\". Valid: {valid}")]
    Unknown {
        kind: String,
        name: String,
        valid: String,
    },
    /// A value cannot be read or lies outside its range.
    #[error("{key}={value}: expected {expected}")]
    Value {
        key: String,
        value: String,
        expected: String,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum ParamEntry {
    /// `key=value`
    Value { key: String, value: String },
    /// `name(…)`, a bare `name` (an empty list), or `(…)` (an empty name)
    List { name: String, params: Params },
}

/// A parsed parameter list, in the order written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params {
    entries: Vec<ParamEntry>,
}

impl Params {
    /// Parses a whole string. Empty text is an empty list.
    pub fn parse(text: &str) -> Result<Params, ParamError> {
        let mut parser = Parser {
            text,
            rest: text,
            depth: 0,
        };
        let params = parser.list()?;
        match parser.peek() {
            None => Ok(params),
            Some(c) => Err(parser.syntax_error(format!("unexpected '{c}'"))),
        }
    }

    pub fn entries(&self) -> &[ParamEntry] {
        &self.entries
    }

    pub(crate) fn push(&mut self, entry: ParamEntry) {
        self.entries.push(entry);
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The text at `key`. The last one written counts.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.iter().rev().find_map(|entry| match entry {
            ParamEntry::Value { key: k, value } if k == key => Some(value.as_str()),
            _ => None,
        })
    }

    /// The nested lists with their names.
    pub fn lists(&self) -> impl Iterator<Item = (&str, &Params)> {
        self.entries.iter().filter_map(|entry| match entry {
            ParamEntry::List { name, params } => Some((name.as_str(), params)),
            ParamEntry::Value { .. } => None,
        })
    }

    /// With the values of `outer`, which do not count for keys of its own. Lists are not inherited.
    pub(crate) fn inheriting(&self, outer: &Params) -> Params {
        let values = outer
            .entries
            .iter()
            .filter(|entry| matches!(entry, ParamEntry::Value { .. }));
        Params {
            entries: values.chain(&self.entries).cloned().collect(),
        }
    }

    pub(crate) fn with(mut self, key: &str, value: &str) -> Params {
        self.entries.push(ParamEntry::Value {
            key: key.into(),
            value: value.into(),
        });
        self
    }

    /// The list with `value` where `path` leads through nested lists. `None` if there is no such list.
    pub fn with_value_at(&self, path: &[&str], value: &str) -> Option<Params> {
        let (&name, rest) = path.split_first()?;
        if rest.is_empty() {
            return Some(self.without(&[name]).with(name, value));
        }
        self.with_list(name, |list| list.with_value_at(rest, value))
    }

    /// The list with its list `name` changed. `None` without such a list, or by `change`.
    pub fn with_list(&self, name: &str, change: impl FnOnce(&Params) -> Option<Params>) -> Option<Params> {
        let mut changed = self.clone();
        let nested = changed.entries.iter_mut().find_map(|entry| match entry {
            ParamEntry::List { name: known, params } if known == name => Some(params),
            _ => None,
        })?;
        *nested = change(nested)?;
        Some(changed)
    }

    /// Keys, and names of lists.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| match entry {
            ParamEntry::Value { key: name, .. } | ParamEntry::List { name, .. } => name.as_str(),
        })
    }

    /// With the entries of `new` in the place of those that `names` names.
    pub fn replacing(&self, names: &[String], new: &Params) -> Params {
        let kept = self
            .names()
            .zip(&self.entries)
            .filter(|(name, _)| !names.iter().any(|known| known == name));
        Params {
            entries: kept
                .map(|(_, entry)| entry)
                .chain(&new.entries)
                .cloned()
                .collect(),
        }
    }

    pub(crate) fn refuse_repeated_keys(&self) -> Result<(), ParamError> {
        let mut known = Vec::new();
        for entry in &self.entries {
            match entry {
                ParamEntry::List { params, .. } => params.refuse_repeated_keys()?,
                ParamEntry::Value { key, value } if known.contains(&key) => {
                    let expected = "each parameter once".into();
                    return Err(ParamError::Value {
                        key: key.clone(),
                        value: value.clone(),
                        expected,
                    });
                }
                ParamEntry::Value { key, .. } => known.push(key),
            }
        }
        Ok(())
    }

    pub(crate) fn without(&self, keys: &[&str]) -> Params {
        let stays = |entry: &&ParamEntry| !matches!(entry, ParamEntry::Value { key, .. } if keys.contains(&key.as_str()));
        Params {
            entries: self.entries.iter().filter(stays).cloned().collect(),
        }
    }

    /// Refuses keys that are not in `keys`, and nested lists that are not in `lists`.
    pub(crate) fn allow_only(&self, owner: &str, keys: &[&str], lists: &[&str]) -> Result<(), ParamError> {
        for entry in &self.entries {
            let (name, known) = match entry {
                ParamEntry::Value { key, .. } => (key, keys.contains(&key.as_str())),
                ParamEntry::List { name, .. } => (name, lists.contains(&name.as_str())),
            };
            if !known {
                return Err(ParamError::Unknown {
                    kind: format!("parameter of {owner}"),
                    name: name.clone(),
                    valid: if keys.is_empty() && lists.is_empty() {
                        "none".into()
                    } else {
                        keys.iter().chain(lists).copied().collect::<Vec<_>>().join(", ")
                    },
                });
            }
        }
        Ok(())
    }
}

impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, entry) in self.entries.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            match entry {
                ParamEntry::Value { key, value } => write!(f, "{key}={value}")?,
                ParamEntry::List { name, params } if params.is_empty() && !name.is_empty() => {
                    f.write_str(name)?
                }
                ParamEntry::List { name, params } => write!(f, "{name}({params})")?,
            }
        }
        Ok(())
    }
}

/// Hostile text must not exhaust the stack.
const MAX_DEPTH: usize = 16;

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    /// The next character behind white space.
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn skip_mark(&mut self) {
        self.rest = &self.rest[1..];
    }

    fn syntax_error(&self, reason: impl Into<String>) -> ParamError {
        let position = self.text.len() - self.rest.len() + 1;
        ParamError::Syntax {
            text: self.text.into(),
            position,
            reason: reason.into(),
        }
    }

    fn list(&mut self) -> Result<Params, ParamError> {
        let mut entries = Vec::new();
        while !matches!(self.peek(), None | Some(')')) {
            entries.push(self.entry()?);
            match self.peek() {
                Some(',') => self.skip_mark(),
                None | Some(')') => {}
                Some(c) => return Err(self.syntax_error(format!("expected ',' before '{c}'"))),
            }
        }
        Ok(Params { entries })
    }

    fn entry(&mut self) -> Result<ParamEntry, ParamError> {
        let name = self.word("=(),");
        match self.peek() {
            Some('=') if name.is_empty() => Err(self.syntax_error("a key is missing before '='")),
            Some('=') => {
                self.skip_mark();
                Ok(ParamEntry::Value {
                    key: name,
                    value: self.value()?,
                })
            }
            Some('(') => {
                self.skip_mark();
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err(self.syntax_error("nested too deeply"));
                }
                let params = self.list()?;
                if self.peek() != Some(')') {
                    return Err(self.syntax_error("a ')' is missing"));
                }
                self.skip_mark();
                self.depth -= 1;
                Ok(ParamEntry::List { name, params })
            }
            _ if name.is_empty() => Err(self.syntax_error("an entry is missing")),
            _ => Ok(ParamEntry::List {
                name,
                params: Params::default(),
            }),
        }
    }

    fn value(&mut self) -> Result<String, ParamError> {
        let Some(quote @ ('"' | '\'')) = self.peek() else {
            return Ok(self.word("(),"));
        };
        self.skip_mark();
        let within = self.rest.split_once(quote);
        let (value, rest) = within.ok_or_else(|| self.syntax_error("a quote is not closed"))?;
        self.rest = rest;
        Ok(value.into())
    }

    fn word(&mut self, ends: &str) -> String {
        let length = self.rest.find(|c| ends.contains(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        word.trim_end().into()
    }
}

/// Splits a list at commas outside parentheses and quotes. Empty parts are left out.
pub fn entries(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut depth = 0_i32;
    let mut quote = None;
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
    parts
        .into_iter()
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parses_nested_lists() {
        let params = Params::parse("smooth(init-tree-reuse=0.2, mle-legacy(midpoint=50),blend)").unwrap();
        let (name, smooth) = params.lists().next().unwrap();
        assert_eq!(name, "smooth");
        assert_eq!(
            (smooth.get("init-tree-reuse"), smooth.get("init-nps")),
            (Some("0.2"), None)
        );
        let names: Vec<_> = smooth.lists().map(|(name, _)| name).collect();
        assert_eq!(names, ["mle-legacy", "blend"]);
        assert_eq!(
            params.to_string(),
            "smooth(init-tree-reuse=0.2,mle-legacy(midpoint=50),blend)"
        );
    }

    #[test]
    fn parses_anonymous_lists_and_quotes() {
        let params = Params::parse("backend=demux,(gpu=0),(gpu=1),path=\"a,b\"").unwrap();
        assert_eq!(
            params
                .lists()
                .map(|(_, p)| p.get("gpu").unwrap())
                .collect::<Vec<_>>(),
            ["0", "1"]
        );
        assert_eq!(params.get("path"), Some("a,b"));
    }

    #[test]
    fn a_value_is_set_where_a_path_leads() {
        let params = Params::parse("smooth(mle-mlh,init-nps=5),blend(mle-mlh(weight=2))").unwrap();
        let set = |path: &[&str]| params.with_value_at(path, "7").map(|params| params.to_string());
        assert_eq!(
            set(&["smooth", "init-nps"]).as_deref(),
            Some("smooth(mle-mlh,init-nps=7),blend(mle-mlh(weight=2))")
        );
        assert_eq!(
            set(&["blend", "mle-mlh", "scale"]).as_deref(),
            Some("smooth(mle-mlh,init-nps=5),blend(mle-mlh(weight=2,scale=7))")
        );
        assert_eq!(set(&["smooth", "mle-legacy", "midpoint"]), None);
        assert_eq!(set(&[]), None);
    }

    #[test]
    fn faults_name_place_and_remedy() {
        let fault = |text: &str| Params::parse(text).unwrap_err().to_string();
        assert_eq!(fault("a(b=1"), "a ')' is missing at character 6 of \"a(b=1\"");
        assert_eq!(fault("a)"), "unexpected ')' at character 2 of \"a)\"");
        assert_eq!(
            fault("=1"),
            "a key is missing before '=' at character 1 of \"=1\""
        );
        assert_eq!(
            fault("a=\"x"),
            "a quote is not closed at character 4 of \"a=\"x\""
        );
        assert!(
            Params::parse(&"a(".repeat(MAX_DEPTH)).is_err_and(|error| !error.to_string().contains("deep"))
        );
        assert!(fault(&"a(".repeat(MAX_DEPTH + 1)).starts_with("nested too deeply"));
        let params = Params::parse("x=2").unwrap();
        assert_eq!(
            params.allow_only("simple", &["y"], &[]).unwrap_err().to_string(),
            "unknown parameter of simple \"x\". Valid: y"
        );
    }

    proptest! {
        #[test]
        fn never_panics_and_prints_what_it_parsed(text in "[a-z0-9=(),\" .-]{0,40}") {
            if let Ok(params) = Params::parse(&text) && !text.contains('"') {
                prop_assert_eq!(Params::parse(&params.to_string()), Ok(params));
            }
        }
    }
}
