//! The viewer of games: a board to step through, what is said of the moves, graphs, and where the time went.
//!
//! [`ViewedGame`] holds what `viewer.js` shows of a game. The program finds out where the time went, and what
//! many games have in common. The pages of [`analysis`](crate::analysis) and of [`matches`](crate::matches)
//! hold the viewer.

use itertools::Itertools;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use crate::pgn::{RecordedGame, Tags, with_positions};
use crate::report::Page;
use zeitnot_engine::chess::{Move, Position};
use zeitnot_engine::time::TimeControl;

const STYLE: &str = include_str!("viewer.css");
/// It may use texts of the data as text only, never as markup.
const SCRIPT: &str = include_str!("viewer.js");

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Remark {
    pub(crate) text: String,
    /// The positions that it is about, by the plies before them.
    pub(crate) plies: Vec<usize>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ViewedGame {
    number: u64,
    players: [ViewedPlayer; 2],
    result: String,
    date: Option<String>,
    /// The address of the game on a chess server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    site: Option<String>,
    /// Event, date, time control, opening and end, where they are known.
    facts: Vec<String>,
    #[serde(default)]
    end: Option<String>,
    fen: String,
    /// The moves, each as two words: squares as in UCI, and SAN.
    moves: String,
    /// One more than there are moves.
    positions: Vec<ViewedPosition>,
    plies: Vec<ViewedMove>,
    /// Time that both begin with, and the clock below which it is low, ms.
    base: Option<f64>,
    low: Option<f64>,
    /// True if each position has the evaluation of the player to move, not that of one judge.
    pub(crate) by_players: bool,
    /// What is set side by side for White and Black: a name and two figures.
    pub(crate) figures: Vec<[String; 3]>,
    pub(crate) turns: Vec<Remark>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ViewedPlayer {
    name: String,
    title: Option<String>,
    rating: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ViewedPosition {
    /// White's winning chances, percent.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "tenths")]
    pub(crate) win: Option<f64>,
    /// White's win, draw and loss, permille.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wdl: Option<[u32; 3]>,
    /// The evaluation from White's point of view.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) eval: String,
    /// Plies left, as the search sees them.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "tenths")]
    pub(crate) ml: Option<f64>,
    /// The lines of the search: the evaluation, and the moves as in [`ViewedGame::moves`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) lines: Vec<(String, String)>,
    /// The searched moves, each as three words: squares, share of the visits in permille, and the mover's
    /// winning chances after it in percent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) tries: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ViewedMove {
    /// The mover's clock after it, ms.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "whole")]
    pub(crate) clock: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "whole")]
    pub(crate) used: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "whole")]
    pub(crate) planned: Option<f64>,
    /// `?!`, `?` or `??`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) mark: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) note: String,
    /// Whether to point at something better.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) has_better: bool,
    /// What the source says of it: comments, and variations in brackets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) source: Vec<String>,
}

impl Page {
    /// Adds the viewer with `data`, in which nothing can end the element that holds it.
    pub(crate) fn viewer(self, data: &Value) -> Page {
        let json = data
            .to_string()
            .replace('<', "\\u003c")
            .replace('>', "\\u003e")
            .replace('&', "\\u0026");
        self.block(format_args!(
            "<style>{STYLE}</style>\n<noscript><p>The board and the graphs need JavaScript.</p></noscript>\n<div id=\"viewer\"></div>\n\
             <script type=\"application/json\" id=\"games\">{json}</script>\n<script>\n{SCRIPT}</script>"
        ))
    }
}

/// A page of games whose server answers `search` as `zeitnot serve` does.
pub fn live_page(games: &[RecordedGame]) -> Page {
    let viewed = games.iter().map(|game| {
        let positions = vec![ViewedPosition::default(); game.moves.len() + 1];
        let plies = vec![ViewedMove::default(); game.moves.len()];
        json!({ "game": ViewedGame::new(game, None, positions, plies), "pgn": "" })
    });
    let mut page = Page::new("Board");
    page.is_live = true;
    page.viewer(&json!({ "games": viewed.collect::<Vec<_>>(), "live": true }))
}

impl ViewedGame {
    /// `control` is the game's time control.
    pub(crate) fn new(
        game: &RecordedGame,
        control: Option<TimeControl>,
        positions: Vec<ViewedPosition>,
        plies: Vec<ViewedMove>,
    ) -> ViewedGame {
        let player = |color: &str| ViewedPlayer {
            name: tag(&game.tags, color).unwrap_or("?").to_owned(),
            title: tag(&game.tags, &format!("{color}Title")).map(str::to_owned),
            rating: tag(&game.tags, &format!("{color}Elo")).map(str::to_owned),
        };
        let base = control.map(|control| control.time.0);
        ViewedGame {
            number: game.number,
            players: [player("White"), player("Black")],
            result: tag(&game.tags, "Result").unwrap_or("*").to_owned(),
            date: date(game),
            site: site(&game.tags),
            facts: facts(game, control),
            end: end(game),
            fen: game.start.to_fen(),
            moves: line_of(&game.start, game.moves.iter().map(|played| played.r#move)),
            base,
            low: base.map(low_clock),
            by_players: false,
            figures: Vec::new(),
            turns: Vec::new(),
            positions,
            plies,
        }
    }
}

fn tenths<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    value
        .map(|value| (10.0 * value).round() / 10.0)
        .serialize(serializer)
}

fn whole<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    value.map(f64::round).serialize(serializer)
}

fn tag<'a>(tags: &'a Tags, name: &str) -> Option<&'a str> {
    tags.get(name)
        .map(str::trim)
        .filter(|value| !value.is_empty() && !matches!(*value, "?" | "-"))
}

/// The moves of a line, each as two words: squares as in UCI, and SAN.
pub(crate) fn line_of(start: &Position, moves: impl Iterator<Item = Move>) -> String {
    let moves = with_positions(start, moves);
    moves
        .map(|(before, played)| format!("{played:?} {}", before.format_san(played)))
        .join(" ")
}

/// The name of a move, as in `15…Rd2??`.
pub(crate) fn move_name(before: &Position, played: Move, mark: &str) -> String {
    let dots = if before.turn().is_white() { "." } else { "…" };
    format!(
        "{}{dots}{}{mark}",
        before.game_ply() / 2 + 1,
        before.format_san(played)
    )
}

/// The clock, ms, below which lichess warns a player: an eighth of the time that all begin with, of 10 to 60
/// seconds unless that is below 80 seconds.
pub(crate) fn low_clock(base_ms: f64) -> f64 {
    let eighth = base_ms / 8.0;
    if base_ms < 80_000.0 {
        eighth
    } else {
        eighth.clamp(10_000.0, 60_000.0)
    }
}

/// Whose flag fell, by the tags.
fn lost_on_time(tags: &Tags) -> Option<&'static str> {
    let termination = tags.get("Termination")?.to_lowercase();
    let by_time = ["time forfeit", "on time"]
        .iter()
        .any(|words| termination.contains(words));
    let loser = match tags.result()? {
        -1 => "White",
        1 => "Black",
        _ => return None,
    };
    by_time.then_some(loser)
}

/// The date as far as it is known, as in `2026-11-20`.
fn date(game: &RecordedGame) -> Option<String> {
    let date = tag(&game.tags, "UTCDate")
        .or(tag(&game.tags, "Date"))?
        .replace('.', "-");
    let known = date.split("-?").next().unwrap_or_default();
    Some(known.to_owned()).filter(|known| !known.is_empty() && !known.starts_with('?'))
}

fn site(tags: &Tags) -> Option<String> {
    let mut addresses = ["Link", "Site"].into_iter().filter_map(|name| tag(tags, name));
    addresses
        .find(|address| address.starts_with("https://"))
        .map(str::to_owned)
}

fn facts(game: &RecordedGame, control: Option<TimeControl>) -> Vec<String> {
    let tag = |name| tag(&game.tags, name);
    // chess.com names the opening in an address.
    let address = tag("ECOUrl")
        .and_then(|url| url.rsplit('/').next())
        .map(|words| words.replace('-', " "));
    let opening = match (tag("Opening"), tag("ECO")) {
        (Some(name), Some(eco)) => Some(format!("{name} ({eco})")),
        (Some(name), None) => Some(name.to_owned()),
        (None, eco) => address.or(eco.map(|eco| format!("opening {eco}"))),
    };
    [
        tag("Event").map(str::to_owned),
        date(game),
        control.map(control_in_words),
        opening,
        end(game),
    ]
    .into_iter()
    .flatten()
    .collect()
}

pub(crate) fn control_in_words(control: TimeControl) -> String {
    let is_whole = |seconds: f64, unit: f64| seconds >= unit && (seconds / unit).fract() == 0.0;
    let time = match control.time.as_secs() {
        seconds if is_whole(seconds, 86_400.0) => format!("{} d", seconds / 86_400.0),
        seconds if is_whole(2.0 * seconds, 60.0) && seconds >= 60.0 => format!("{} min", seconds / 60.0),
        seconds if seconds > 60.0 => format!("{} min {} s", (seconds / 60.0).floor(), seconds % 60.0),
        seconds => format!("{seconds} s"),
    };
    let increment = control.inc.as_secs();
    let increment = if increment > 0.0 {
        format!(" + {increment} s a move")
    } else {
        String::new()
    };
    let moves = match control.moves {
        None => String::new(),
        Some(1) => " a move".to_owned(),
        Some(moves) => format!(" for {moves} moves"),
    };
    format!("{time}{moves}{increment}")
}

fn end(game: &RecordedGame) -> Option<String> {
    if let Some(name) = lost_on_time(&game.tags) {
        Some(format!("{name} lost on time"))
    } else if game.end.legal_moves().is_empty() {
        Some(
            if game.end.is_check() {
                "checkmate"
            } else {
                "stalemate"
            }
            .to_owned(),
        )
    } else {
        let details = tag(&game.tags, "TerminationDetails").or(tag(&game.tags, "Termination"));
        details
            .filter(|end| !matches!(end.to_lowercase().as_str(), "normal" | "unterminated" | "unknown"))
            .map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgn::Games;

    fn read(text: &'static str) -> RecordedGame {
        Games::new("text", text.as_bytes()).next().unwrap().unwrap()
    }

    #[test]
    fn the_head_tells_what_lichess_and_chess_com_say() {
        let lichess = read(
            "[Event \"Rated blitz game\"]\n[White \"a\"]\n[UTCDate \"2026.11.20\"]\n[Result \"1-0\"]\n[ECO \"C50\"]\n[Opening \"Italian Game\"]\n\
             [TimeControl \"180+2\"]\n[Termination \"Time forfeit\"]\n\n1. e4 1-0\n",
        );
        let control = "180+2".parse().ok();
        let expected = [
            "Rated blitz game",
            "2026-11-20",
            "3 min + 2 s a move",
            "Italian Game (C50)",
            "Black lost on time",
        ];
        assert_eq!(facts(&lichess, control), expected);
        assert_eq!(lost_on_time(&lichess.tags), Some("Black"));
        let chess_com = read(
            "[Result \"0-1\"]\n[ECO \"C50\"]\n[ECOUrl \"https://www.chess.com/openings/Italian-Game-3...Nf6\"]\n\
             [Termination \"b won by resignation\"]\n\n1. e4 0-1\n",
        );
        assert_eq!(
            facts(&chess_com, None),
            ["Italian Game 3...Nf6", "b won by resignation"]
        );
        assert_eq!(lost_on_time(&chess_com.tags), None);
        assert_eq!(facts(&read("1. f3 e5 2. g4 Qh4# 0-1\n"), None), ["checkmate"]);
        assert!(
            facts(&read("[Termination \"Unknown\"]\n\n1. f3 e5 0-1\n"), None).is_empty(),
            "it says nothing"
        );
        let words = ["30", "40/5400+30", "1/259200"].map(|text| control_in_words(text.parse().unwrap()));
        assert_eq!(words, ["30 s", "90 min for 40 moves + 30 s a move", "3 d a move"]);
    }

    #[test]
    fn the_clock_is_low_when_lichess_warns() {
        assert_eq!(
            [30.0, 60.0, 80.0, 180.0, 600.0].map(|s| low_clock(1000.0 * s)),
            [3_750.0, 7_500.0, 10_000.0, 22_500.0, 60_000.0]
        );
    }

    #[test]
    fn lines_are_squares_and_san() {
        let game = read("1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. O-O *\n");
        let moves: Vec<_> = game.moves.iter().map(|played| played.r#move).collect();
        assert_eq!(
            line_of(&game.start, moves.iter().copied()),
            "e2e4 e4 e7e5 e5 g1f3 Nf3 b8c6 Nc6 f1c4 Bc4 f8c5 Bc5 e1h1 O-O"
        );
        let black = game.start.play(moves[0]);
        assert_eq!(move_name(&black, moves[1], "??"), "1…e5??");
    }

    /// The part of the light that a colour `#rgb` or `#rrggbb` sends, as WCAG counts it.
    fn luminance(color: &str) -> f64 {
        let digits: Vec<_> = color[1..]
            .chars()
            .map(|digit| digit.to_digit(16).unwrap())
            .collect();
        let channel = |index: usize| {
            let value = if digits.len() == 3 {
                17 * digits[index]
            } else {
                16 * digits[2 * index] + digits[2 * index + 1]
            };
            let share = f64::from(value) / 255.0;
            if share <= 0.03928 {
                share / 12.92
            } else {
                ((share + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * channel(0) + 0.7152 * channel(1) + 0.0722 * channel(2)
    }

    /// A regression: `??` was hardly to be seen in the dark.
    #[test]
    fn text_stands_out_in_light_and_in_dark() {
        let html = Page::new("t")
            .viewer(&serde_json::json!({ "games": [] }))
            .to_html();
        let themes = [":root{", "(prefers-color-scheme:dark){:root{"].map(|start| {
            let blocks = html.match_indices(start).map(|(at, _)| &html[at + start.len()..]);
            let blocks = blocks.map(|rest| rest.split('}').next().unwrap());
            blocks
                .flat_map(|block| block.split(';'))
                .filter_map(|pair| pair.strip_prefix("--")?.split_once(':'))
                .collect::<Vec<_>>()
        });
        let [_, dark] = &themes;
        assert_eq!(dark.len(), 11, "{dark:?}");
        // The last block of a name is that of the dark, which `:root{` finds too.
        let light: Vec<_> = themes[0].iter().filter(|pair| !dark.contains(pair)).collect();
        let of = |theme: &dyn Fn(&str) -> String, text: &str, ground: &str| {
            let [a, b] = [theme(text), theme(ground)].map(|color| luminance(&color));
            (a.max(b) + 0.05) / (a.min(b) + 0.05)
        };
        let in_dark = |name: &str| dark.iter().find(|(key, _)| *key == name).unwrap().1.to_owned();
        let in_light = |name: &str| light.iter().find(|(key, _)| *key == name).unwrap().1.to_owned();
        for text in [
            "ink",
            "quiet",
            "link",
            "one",
            "two",
            "inaccuracy",
            "mistake",
            "blunder",
        ] {
            for ground in ["paper", "shade"] {
                let found = [of(&in_light, text, ground), of(&in_dark, text, ground)];
                assert!(
                    found[0] >= 4.5 && found[1] >= 4.5,
                    "{text} on {ground}: {found:?}"
                );
            }
        }
    }
}
