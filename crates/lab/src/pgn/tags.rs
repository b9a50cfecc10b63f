//! The tags of a game: how they are written, and what they say of its result and of the rules that it was
//! played by.

use std::borrow::Cow;

use zeitnot_engine::chess::{Position, Variant};

/// The tag with which the standard lets a game begin.
pub(super) const FIRST: &str = "Event";
/// The tag of the result.
const RESULT: &str = "Result";
/// Names of standard chess, in small letters and digits alone.
const STANDARD: [&str; 10] = [
    "",
    "standard",
    "standardchess",
    "chess",
    "normal",
    "normalchess",
    "classical",
    "classicalchess",
    "fromposition",
    "standardfromposition",
];
/// Names of Chess960, in the same letters.
const CHESS960: [&str; 17] = [
    "chess960",
    "960",
    "fischerandom",
    "fischerrandom",
    "fischerrandomchess",
    "fischerandomchess",
    "chess960fischerrandom",
    "chess960frc",
    "frc",
    "dfrc",
    "doublefischerrandom",
    "doublefischerrandomchess",
    "doublechess960",
    "chess9lx",
    "freestyle",
    "freestylechess",
    "wildfr",
];

/// The tags of a game.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags {
    pairs: Vec<(String, String)>,
}

impl Tags {
    /// Returns the value of the first tag of this name, in small letters or capitals.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Returns the result in the tag `Result`, from White's point of view: 1, 0 or −1, or `None` for `*` and
    /// where there is none.
    pub fn result(&self) -> Option<i8> {
        match result_of(self.get(RESULT)?)? {
            "1-0" => Some(1),
            "0-1" => Some(-1),
            "1/2-1/2" => Some(0),
            _ => None,
        }
    }

    /// Returns all tags, name and value, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub(super) fn push(&mut self, name: &str, value: impl Into<String>) {
        self.pairs.push((name.into(), value.into()));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Says whether the first tag has this name.
    pub(super) fn begin_with(&self, name: &str) -> bool {
        self.pairs.first().is_some_and(|(first, _)| first == name)
    }

    /// Adds the result that follows the moves, where no tag tells it.
    pub(super) fn complete(&mut self, result: &str) {
        if self.get(RESULT).is_none() && result != "*" {
            self.push(RESULT, result);
        }
    }

    /// Says that the game's result is left open.
    pub(super) fn leaves_result_open(&self) -> bool {
        self.get(RESULT) == Some("*")
    }

    /// The players, in brackets, as messages name them, empty where no tag does.
    pub fn players(&self) -> String {
        match [self.get("White"), self.get("Black")] {
            [None, None] => String::new(),
            players => format!(" ({})", players.map(|name| name.unwrap_or("?")).join(" – ")),
        }
    }

    /// Returns the rules and the first position.
    pub(super) fn start(&self) -> Result<(Variant, Position), String> {
        let name = self.get("Variant").unwrap_or_default();
        let variant = variant_of(name).ok_or_else(|| {
            format!("its variant is \"{name}\", and only standard chess and Chess960 are read")
        })?;
        let start = match self.get("FEN") {
            Some(fen) if !fen.trim().is_empty() => {
                Position::from_fen(fen).map_err(|error| error.to_string())?
            }
            _ if self.get("SetUp") == Some("1") => {
                return Err("it begins from a position, but has no tag FEN".into());
            }
            _ => Position::start(),
        };
        Ok((variant, start))
    }
}

/// Returns the variant of the tag `Variant`, or `None` for other games than chess. FICS calls positions with
/// the rules of standard chess wild, from 0 to 8.
fn variant_of(name: &str) -> Option<Variant> {
    let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let letters = letters.to_ascii_lowercase();
    let is_wild =
        letters.strip_prefix("wild").is_some_and(|rest| matches!(rest.as_bytes(), [b'0'..=b'8'] | b"8a"));
    match &*letters {
        _ if is_wild => Some(Variant::Standard),
        name if STANDARD.contains(&name) => Some(Variant::Standard),
        name if CHESS960.contains(&name) => Some(Variant::Chess960),
        _ => None,
    }
}

/// Returns the result that a text means, as the standard writes it.
pub(super) fn result_of(text: &str) -> Option<&'static str> {
    match text {
        "1-0" | "1–0" | "1:0" => Some("1-0"),
        "0-1" | "0–1" | "0:1" => Some("0-1"),
        "1/2-1/2" | "1/2–1/2" | "1/2:1/2" | "1/2" | "½-½" | "½–½" | "½:½" | "½" => Some("1/2-1/2"),
        "*" => Some("*"),
        _ => None,
    }
}

/// Returns the length of the tag at the start of a line, or `None` if that is no tag. White space may be
/// anywhere in it, and a value may have quotes in it: the tag ends at a quote with a bracket.
pub(super) fn length(line: &[u8]) -> Option<usize> {
    Parts::of(line).map(|parts| parts.length)
}

/// Reads a tag: its name and its value, in which a backslash stands before quotes and backslashes.
pub(super) fn read(tag: &[u8]) -> Option<(&str, Cow<'_, [u8]>)> {
    let Parts { name, value, .. } = Parts::of(tag)?;
    if !value.contains(&b'\\') {
        return Some((name, Cow::Borrowed(value)));
    }
    let mut plain = Vec::with_capacity(value.len());
    let mut bytes = value.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let escaped = bytes.next_if(|next| byte == b'\\' && matches!(next, b'"' | b'\\'));
        plain.push(escaped.unwrap_or(byte));
    }
    Some((name, Cow::Owned(plain)))
}

struct Parts<'t> {
    name: &'t str,
    value: &'t [u8],
    length: usize,
}

impl<'t> Parts<'t> {
    fn of(line: &'t [u8]) -> Option<Parts<'t>> {
        let rest = line.strip_prefix(b"[")?.trim_ascii_start();
        let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_+#=:-".contains(byte);
        let (name, rest) = rest.split_at(rest.iter().take_while(is_name).count());
        let name = std::str::from_utf8(name).ok().filter(|name| !name.is_empty())?;
        let value = rest.trim_ascii_start().strip_prefix(b"\"")?;
        let begin = line.len() - value.len();
        let ends = |place: usize| {
            let behind = value[place + 1..].trim_ascii_start().strip_prefix(b"]")?;
            Some((place, line.len() - behind.len()))
        };
        let is_escaped =
            |place: usize| value[..place].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1;
        let mut quotes = (0..value.len()).filter(|&place| value[place] == b'"');
        let (end, length) = quotes
            .clone()
            .filter(|&place| !is_escaped(place))
            .find_map(ends)
            // As in "C:\", where the backslash is meant as it stands.
            .or_else(|| quotes.find_map(ends))?;
        Some(Parts { name, value: &line[begin..begin + end], length })
    }
}
