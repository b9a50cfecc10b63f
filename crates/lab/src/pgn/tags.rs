//! The tags of a game: how they are written, and what they say of its result and of the rules that it was
//! played by.

use std::borrow::Cow;

use zeitnot_engine::chess::{Position, Variant};

/// The tag with which the standard lets a game begin.
pub(super) const FIRST: &str = "Event";
/// The tag of the result.
const RESULT: &str = "Result";
/// The tag that says who wrote the comments.
pub(crate) const ANNOTATOR: &str = "Annotator";
/// Stands between annotators.
pub(crate) const ANNOTATOR_BREAK: &str = "; ";
/// Results as people write them: White's points, Black's, and what the standard writes.
const RESULTS: [(&str, &str, &str); 10] = [
    ("1", "0", "1-0"),
    ("0", "1", "0-1"),
    ("1/2", "1/2", "1/2-1/2"),
    ("½", "½", "1/2-1/2"),
    ("0.5", "0.5", "1/2-1/2"),
    ("0,5", "0,5", "1/2-1/2"),
    ("1.0", "0.0", "1-0"),
    ("0.0", "1.0", "0-1"),
    ("0", "0", NEITHER_SCORES),
    ("0.0", "0.0", NEITHER_SCORES),
];
/// Both have lost.
pub(super) const NEITHER_SCORES: &str = "0-0";
/// Names of standard chess, in small letters and digits alone.
const STANDARD: &str = "standard standardchess chess normal normalchess regular classical classicalchess \
                        fromposition standardfromposition";
/// Names of Chess960, in the same letters.
const CHESS960: &str = "chess960 960 fischerandom fischerrandom fischerrandomchess fischerandomchess \
                        chess960fischerrandom chess960frc frc dfrc doublefischerrandom \
                        doublefischerrandomchess doublechess960 chess9lx freestyle freestylechess wildfr";

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

    /// The result in the tag, as the standard writes it.
    pub(super) fn written_result(&self) -> Option<&'static str> {
        result_of(self.get(RESULT)?)
    }

    /// Brings the tag and the result that follows the moves to one. A tag that is no result, or leaves it
    /// open, gives way. Returns what is to be said where they contradict each other.
    pub(super) fn settle_result(&mut self, marker: Option<&'static str>) -> Option<String> {
        let tag = self.written_result();
        let result = match (tag, marker) {
            (None | Some("*"), Some(marker)) => marker,
            (tag, _) => tag.unwrap_or("*"),
        };
        match self.pairs.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(RESULT)) {
            Some((_, value)) => result.clone_into(value),
            None if result == "*" => {}
            None => self.push(RESULT, result),
        }
        let other = marker.filter(|&marker| marker != result && marker != "*")?;
        Some(format!("its tag says {result}, and {other} follows its moves: the tag counts"))
    }

    /// People who are named as annotators, and whether an analysis of Zeitnot stands behind them.
    pub(crate) fn annotators(&self) -> (&str, bool) {
        let text = self.get(ANNOTATOR).unwrap_or_default();
        match text.rfind("Zeitnot ").map(|place| text.split_at(place)) {
            // Matches name the version alone.
            Some((people, analysis)) if analysis.contains(", ") => {
                (people.trim_end_matches(ANNOTATOR_BREAK), true)
            }
            _ => (text, false),
        }
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
            _ if variant == Variant::Chess960 => return Err("it is Chess960, but has no tag FEN".into()),
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
    let is_in = |names: &str| names.split(' ').any(|name| name == letters);
    match () {
        () if letters.is_empty() || is_wild || is_in(STANDARD) => Some(Variant::Standard),
        () if is_in(CHESS960) => Some(Variant::Chess960),
        () => None,
    }
}

/// Returns the result that a text means, as the standard writes it.
pub(super) fn result_of(text: &str) -> Option<&'static str> {
    let text = text.trim();
    result_at(text).filter(|(_, length)| *length == text.len()).map(|(result, _)| result)
}

/// Reads the result that a text begins with, and returns its length too. Blanks may stand within it, and a
/// tag or a bracket right behind it.
pub(super) fn result_at(text: &str) -> Option<(&'static str, usize)> {
    let is_over = |rest: &str| rest.chars().next().is_none_or(|c| c.is_whitespace() || "[({;".contains(c));
    let with = |(white, black, result): (&str, &str, &'static str)| {
        let rest = text.strip_prefix(white)?.trim_start().strip_prefix(['-', '–', '—', '−', ':'])?;
        Some((result, rest.trim_start().strip_prefix(black)?))
    };
    let alone = || {
        let open = text.strip_prefix('*').map(|rest| ("*", rest));
        open.or_else(|| Some(("1/2-1/2", text.strip_prefix("1/2").or_else(|| text.strip_prefix('½'))?)))
    };
    let found = RESULTS.into_iter().find_map(|form| with(form).filter(|(_, rest)| is_over(rest)));
    let (result, rest) = found.or_else(alone).filter(|(_, rest)| is_over(rest))?;
    Some((result, text.len() - rest.len()))
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
