//! A game's tags, and what they say of its result and rules.

use zeitnot_engine::chess::{ListedPosition, Position, Variant};
use zeitnot_engine::files::is_blank;

/// The tag with which the standard lets a game begin.
pub(super) const FIRST: &str = "Event";
/// Tags whose names are known in any letters.
const KNOWN: &str = "Event Site Date Round White Black Result FEN SetUp Variant TimeControl WhiteTimeControl \
                     BlackTimeControl WhiteElo BlackElo Termination Annotator";
/// Tags without which a game would be played from another position.
const OF_START: [&str; 3] = ["FEN", "SetUp", "Variant"];
/// Quotation marks around values: people's, and the standard's.
const QUOTES: [char; 8] = ['"', '\'', '“', '”', '„', '‘', '’', '«'];
const CLOSING_QUOTES: [char; 6] = ['"', '\'', '“', '”', '’', '»'];
const RESULT: &str = "Result";
pub(crate) const ANNOTATOR: &str = "Annotator";
pub(crate) const ANNOTATOR_BREAK: &str = "; ";
/// Names of variants that other programs know, and which stay.
const COMMON_NAMES: [&str; 2] = [
    "standard|chess|classical|normal|illegal|from position",
    "chess960|chess 960|fischerandom|fischerrandom|fischer random|wild/fr",
];
/// Results as the standard writes them, and the points of White and Black as people do.
const RESULTS: [(&str, &str); 4] = [
    ("1-0", "1 0|1.0 0.0"),
    ("0-1", "0 1|0.0 1.0"),
    (NEITHER_SCORES, "0 0|0.0 0.0"),
    ("1/2-1/2", "1/2 1/2|½ ½|0.5 0.5|0,5 0,5"),
];
/// Both have lost.
pub(crate) const NEITHER_SCORES: &str = "0-0";
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
    /// The value of the tag of this name, in small letters or capitals.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// White's result by the tag: 1, 0 or −1, or `None` for `*` and where there is none.
    pub fn result(&self) -> Option<i8> {
        match result_of(self.get(RESULT)?)? {
            "1-0" => Some(1),
            "0-1" => Some(-1),
            "1/2-1/2" => Some(0),
            _ => None,
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Sets a tag, of which the last counts. Returns whether it contradicts the first.
    pub(super) fn set(&mut self, name: &str, value: impl Into<String>) -> bool {
        let value = value.into();
        let mut pairs = self.pairs.iter_mut();
        if let Some((_, first)) = pairs.find(|(key, _)| key.eq_ignore_ascii_case(name)) {
            return std::mem::replace(first, value) != *first;
        }
        self.pairs.push((name.into(), value));
        false
    }

    pub(super) fn first(&self) -> Option<&str> {
        self.pairs.first().map(|(name, _)| name.as_str())
    }

    /// Brings the tag and the result behind the moves to one. A tag that is no result, or leaves it open,
    /// gives way. Returns a message where they contradict each other.
    pub(super) fn settle_result(&mut self, marker: Option<&'static str>) -> Option<String> {
        let tag = self.get(RESULT).and_then(result_of);
        let result = match (tag, marker) {
            (None | Some("*"), Some(marker)) => marker,
            (tag, _) => tag.unwrap_or("*"),
        };
        if result != "*" || self.get(RESULT).is_some() {
            self.set(RESULT, result);
        }
        let other = marker.filter(|&marker| marker != result && marker != "*")?;
        Some(format!(
            "its tag says {result}, and {other} follows its moves: the tag counts"
        ))
    }

    /// The annotators, and whether an analysis of Zeitnot stands behind them.
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

    /// The players, in brackets, empty where no tag names them.
    pub fn players(&self) -> String {
        match [self.get("White"), self.get("Black")] {
            [None, None] => String::new(),
            players => format!(" ({})", players.map(|name| name.unwrap_or("?")).join(" – ")),
        }
    }

    /// In words that other programs know.
    pub(super) fn settle_variant(&mut self, variant: Variant) {
        let name = self.get("Variant").unwrap_or_default().to_lowercase();
        let mut common = COMMON_NAMES[variant as usize].split('|');
        let is_common = common.any(|common| common == name) || name.starts_with("wild");
        if !is_common && (variant == Variant::Chess960 || !name.is_empty()) {
            self.set("Variant", ["Standard", "Chess960"][variant as usize]);
        }
    }

    pub(super) fn start(&self) -> Result<(Variant, Position), String> {
        let name = self.get("Variant").unwrap_or_default();
        let Some(variant) = variant_of(name) else {
            return Err(format!(
                "its variant is \"{name}\", and only standard chess and Chess960 are read"
            ));
        };
        let fen = self.get("FEN").unwrap_or_default();
        if !fen.trim().is_empty() {
            // Counters may be written as operations of EPD.
            let listed = match ListedPosition::read(fen) {
                Some(Ok(listed)) if fen.contains(" hmvc ") => listed.fen,
                _ => None,
            };
            let start = Position::from_fen(listed.as_deref().unwrap_or(fen));
            return Ok((variant, start.map_err(|error| error.to_string())?));
        }
        if self.get("SetUp") == Some("1") {
            return Err("it begins from a position, but has no tag FEN".into());
        }
        if variant == Variant::Chess960 {
            return Err("it is Chess960, but has no tag FEN".into());
        }
        Ok((variant, Position::start()))
    }
}

/// `None` for other games than chess. FICS calls positions of standard chess wild, from 0 to 8.
fn variant_of(name: &str) -> Option<Variant> {
    let mut letters = name.to_ascii_lowercase();
    letters.retain(|c| c.is_ascii_alphanumeric());
    let wild = letters.strip_prefix("wild").unwrap_or_default();
    let is_wild = matches!(wild.as_bytes(), [b'0'..=b'8'] | b"8a");
    let is_in = |names: &str| names.split(' ').any(|name| name == letters);
    if letters.is_empty() || is_wild || is_in(STANDARD) {
        Some(Variant::Standard)
    } else if is_in(CHESS960) {
        Some(Variant::Chess960)
    } else {
        None
    }
}

/// The result that a text means, as the standard writes it.
pub(super) fn result_of(text: &str) -> Option<&'static str> {
    let text = text.trim();
    let (result, length) = result_at(text)?;
    (length == text.len()).then_some(result)
}

/// Reads the result that a text begins with, and its length. Blanks may stand within it, and a tag or a
/// bracket right behind it.
pub(super) fn result_at(text: &str) -> Option<(&'static str, usize)> {
    let forms = RESULTS
        .iter()
        .flat_map(|(result, forms)| forms.split('|').map(move |form| (*result, form)));
    let both = forms.map(|(result, form)| {
        let (white, black) = form.split_once(' ')?;
        let behind = text.strip_prefix(white)?.trim_start();
        let behind = behind.strip_prefix(['-', '–', '—', '−', ':'])?;
        Some((result, behind.trim_start().strip_prefix(black)?))
    });
    let alone = [("*", "*"), ("1/2", "1/2-1/2"), ("½", "1/2-1/2")];
    let alone = alone.map(|(written, result)| Some((result, text.strip_prefix(written)?)));
    let is_end = |c: char| is_blank(c) || "[({;".contains(c);
    let is_over = |rest: &str| rest.is_empty() || rest.starts_with(is_end);
    let mut read = both.chain(alone).flatten();
    let (result, rest) = read.find(|(_, rest)| is_over(rest))?;
    Some((result, text.len() - rest.len()))
}

pub(super) struct Written<'t> {
    pub(super) name: &'t str,
    /// Without escapes. `None` if it cannot be read.
    pub(super) value: Option<String>,
    pub(super) is_closed: bool,
    /// Where the tag ends, in bytes of the line.
    pub(super) length: usize,
}

/// Where within a line a tag of the next game begins, as in files that were cut off: up to the end of the
/// line, as in a header.
pub(super) fn cut_at(line: &str) -> Option<usize> {
    // Lines of moves can be long, and each of their comments asks.
    if !line.ends_with(']') {
        return None;
    }
    let is_tag = |at: &usize| {
        let text = &line[*at..];
        text[1..].starts_with(char::is_alphabetic)
            && read_closed(text)
                .is_some_and(|tag| tag.length == text.len() && KNOWN.split(' ').any(|name| name == tag.name))
    };
    line.match_indices('[').map(|(at, _)| at).find(is_tag)
}

/// Reads what begins like a tag.
pub(super) fn read(line: &str) -> Written<'_> {
    let cut = line.get(1..).and_then(cut_at).map(|at| at + 1);
    let whole = &line[..cut.unwrap_or(line.len())];
    if let Some(tag) = read_closed(whole) {
        return tag;
    }
    let (name, rest) = named(whole).unwrap_or_default();
    let inner = rest.strip_prefix(QUOTES);
    let value = match inner.and_then(|inner| inner.strip_suffix(CLOSING_QUOTES)) {
        // Its bracket alone is missing.
        Some(value) => Some(unescaped(value)),
        None if OF_START.contains(&name) => {
            Some(rest.trim_end_matches(']').trim_matches(QUOTES).trim().to_owned())
        }
        None => None,
    };
    Written {
        name,
        value,
        is_closed: false,
        length: whole.len(),
    }
}

/// The name of a tag, in the letters of the standard, and what is behind it.
fn named(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix('[')?.trim_start();
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_+#=:-".contains(c);
    let (name, rest) = rest.split_at(rest.find(|c| !is_name(c))?);
    let known = KNOWN.split(' ').find(|known| known.eq_ignore_ascii_case(name));
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        .then(|| (known.unwrap_or(name), rest.trim_start()))
}

/// Reads a whole tag. White space may be anywhere in it, and a value may have quotes: the tag ends at a quote
/// with a bracket.
fn read_closed(line: &str) -> Option<Written<'_>> {
    let (name, rest) = named(line)?;
    let value = rest.strip_prefix(QUOTES)?;
    let ends = |(place, quote): (usize, &str)| {
        let behind = value[place + quote.len()..].trim_start().strip_prefix(']')?;
        Some((&value[..place], line.len() - behind.len()))
    };
    let is_escaped = |place: usize| (place - value[..place].trim_end_matches('\\').len()) % 2 == 1;
    let closing = if rest.starts_with('"') {
        &CLOSING_QUOTES[..1]
    } else {
        &CLOSING_QUOTES
    };
    let mut quotes = value.match_indices(closing);
    let plain = quotes
        .clone()
        .filter(|(place, _)| !is_escaped(*place))
        .find_map(ends);
    // As in "C:\", where the backslash is meant as it stands.
    let (value, length) = plain.or_else(|| quotes.find_map(ends))?;
    Some(Written {
        name,
        value: Some(unescaped(value)),
        is_closed: true,
        length,
    })
}

fn unescaped(text: &str) -> String {
    let mut rest = text.chars().peekable();
    let mut value = String::new();
    while let Some(c) = rest.next() {
        let escaped = rest.next_if(|next| c == '\\' && "\"\\".contains(*next));
        value.push(escaped.unwrap_or(c));
    }
    value
}
