//! Reads lines from the GUI as [`UciCommand`]s.

use std::str::SplitAsciiWhitespace;

use itertools::Itertools;

use zeitnot_engine::chess::{Color, MAX_PERFT_DEPTH};
use zeitnot_engine::time::{Bounds, Limit, Millis, Nodes};

/// One line of the GUI. Its moves are not yet checked against the position.
#[derive(Clone, Debug, PartialEq)]
pub enum UciCommand {
    Uci,
    IsReady,
    NewGame,
    SetOption {
        name: String,
        value: String,
    },
    Position(String),
    Go(Box<GoCommand>),
    Stop,
    PonderHit,
    Quit,
    /// Of Lc0: reads nothing until the search is over.
    Wait,
    /// `d`, of Stockfish: shows the board.
    Show,
    Eval,
    /// `go perft`, plies.
    Perft(u32),
    Help,
    /// An empty line, or a command without an answer (`debug`, `register`).
    Nothing,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct GoCommand {
    time: [Option<Millis>; 2],
    inc: [Millis; 2],
    bounds: Bounds,
    is_infinite: bool,
    is_ponder: bool,
    pub(crate) search_moves: Vec<String>,
    /// The parameters in question are left out.
    pub(crate) errors: Vec<String>,
}

impl GoCommand {
    /// For the side to move. A missing clock is guessed only if nothing else ends the search: from the other
    /// side's, or from the increment. Otherwise GUIs send zeros for missing clocks.
    pub(crate) fn limit_for(&self, turn: Color) -> Limit {
        let mover = usize::from(turn == Color::Black);
        let (time, inc) = if self.has_end() {
            let is_clock = self.time.iter().flatten().any(|time| time.0 != 0.0);
            (self.time[mover].filter(|_| is_clock), self.inc[mover])
        } else {
            let sides = [mover, 1 - mover];
            let side = sides.into_iter().find(|&side| self.time[side].is_some());
            let side = side.or_else(|| sides.into_iter().find(|&side| self.inc[side].0 > 0.0));
            side.map(|side| (self.time[side].or(Some(self.inc[side])), self.inc[side]))
                .unwrap_or_default()
        };
        // Some GUIs send negative times.
        let from_zero = |time: Millis| time.max(Millis::ZERO);
        let bounds = (!self.is_infinite).then_some(Bounds {
            time: time.map(from_zero),
            inc: from_zero(inc),
            movetime: self.bounds.movetime.map(from_zero),
            ..self.bounds
        });
        let pondered = Limit::Ponder(bounds);
        if self.is_ponder {
            pondered
        } else {
            pondered.after_ponder_hit()
        }
    }

    fn parse(words: SplitAsciiWhitespace<'_>) -> GoCommand {
        let mut go = GoCommand::default();
        let mut words = words.peekable();
        while let Some(word) = words.next() {
            let mut number = NumberReader {
                parameter: word,
                words: &mut words,
                errors: &mut go.errors,
            };
            match word {
                "infinite" => go.is_infinite = true,
                "ponder" => go.is_ponder = true,
                "wtime" => go.time[0] = number.milliseconds(),
                "btime" => go.time[1] = number.milliseconds(),
                "winc" => go.inc[0] = number.milliseconds().unwrap_or_default(),
                "binc" => go.inc[1] = number.milliseconds().unwrap_or_default(),
                "movestogo" => go.bounds.movestogo = number.count(),
                "movetime" => go.bounds.movetime = number.milliseconds(),
                "nodes" => go.bounds.nodes = number.count().map(Nodes),
                "depth" => go.bounds.depth = number.count(),
                "mate" => go.bounds.mate = number.count(),
                "searchmoves" => {
                    while let Some(text) = words.next_if(|word| !is_go_parameter(word)) {
                        go.search_moves.push(text.into());
                    }
                }
                other => go
                    .errors
                    .push(format!("go: unknown parameter \"{other}\", ignored")),
            }
        }
        // `ponder` is no limit.
        let limit = go.limit_for(Color::White);
        if !go.has_end() && !limit.after_ponder_hit().has_end() {
            go.is_infinite = true;
        }
        go
    }

    /// Something other than a clock ends the search.
    fn has_end(&self) -> bool {
        self.bounds.mate.is_some() || Limit::Until(self.bounds).has_end()
    }
}

const GO_PARAMETERS: [&str; 12] = [
    "infinite",
    "ponder",
    "wtime",
    "btime",
    "winc",
    "binc",
    "movestogo",
    "movetime",
    "nodes",
    "depth",
    "mate",
    "searchmoves",
];

fn is_go_parameter(word: &str) -> bool {
    GO_PARAMETERS.contains(&word)
}

struct NumberReader<'a, 'b> {
    parameter: &'a str,
    words: &'a mut std::iter::Peekable<SplitAsciiWhitespace<'b>>,
    errors: &'a mut Vec<String>,
}

impl NumberReader<'_, '_> {
    /// Some GUIs send fractions.
    fn milliseconds(&mut self) -> Option<Millis> {
        self.read("a number of milliseconds", |text| {
            text.parse().ok().filter(|ms: &f64| ms.is_finite()).map(Millis)
        })
    }

    fn count<T: std::str::FromStr>(&mut self) -> Option<T> {
        self.read("a whole number", |text| text.parse().ok())
    }

    /// Notes a failure. The word is then skipped unless it is a parameter.
    fn read<T>(&mut self, expected: &'static str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let found = self
            .words
            .next_if(|word| parse(word).is_some() || !is_go_parameter(word));
        let value = found.and_then(&parse);
        if value.is_none() {
            let parameter = self.parameter;
            let found = found.unwrap_or_default();
            let text = format!("go {parameter}: expected {expected}, found \"{found}\", parameter ignored");
            self.errors.push(text);
        }
        value
    }
}

impl UciCommand {
    /// The session reports an error and goes on.
    pub fn parse(line: &str) -> Result<UciCommand, String> {
        // Some editors put a byte order mark at the start of a script.
        let mut words = line.trim_start_matches('\u{feff}').split_ascii_whitespace();
        let Some(first) = words.next() else {
            return Ok(UciCommand::Nothing);
        };
        Ok(match first {
            "uci" => UciCommand::Uci,
            "isready" => UciCommand::IsReady,
            "ucinewgame" => UciCommand::NewGame,
            "setoption" => return parse_option(line, words),
            "position" => UciCommand::Position(words.join(" ")),
            "go" => match words.clone().next() {
                Some("perft") => return parse_perft(words.nth(1).unwrap_or_default()),
                _ => UciCommand::Go(Box::new(GoCommand::parse(words))),
            },
            "d" => UciCommand::Show,
            "eval" => UciCommand::Eval,
            "help" => UciCommand::Help,
            "stop" => UciCommand::Stop,
            "ponderhit" => UciCommand::PonderHit,
            "quit" => UciCommand::Quit,
            "wait" => UciCommand::Wait,
            "debug" | "register" => UciCommand::Nothing,
            other => return Err(format!("unknown command \"{other}\", ignored")),
        })
    }
}

/// The name ends at the word `value`, and the value keeps its spaces.
fn parse_option(line: &str, mut words: SplitAsciiWhitespace<'_>) -> Result<UciCommand, String> {
    let is_named = words.next() == Some("name");
    let name = words.by_ref().take_while(|word| *word != "value").join(" ");
    if !is_named || name.is_empty() {
        return Err("setoption: expected \"name NAME [value VALUE]\", ignored".into());
    }
    let value = words
        .next()
        .and_then(|first| line.get(first.as_ptr().addr() - line.as_ptr().addr()..))
        .unwrap_or_default();
    Ok(UciCommand::SetOption {
        name,
        value: value.trim_ascii_end().into(),
    })
}

fn parse_perft(depth: &str) -> Result<UciCommand, String> {
    let plies = depth.parse().ok().filter(|&depth| depth <= MAX_PERFT_DEPTH);
    let expected = format!("expected a number of plies up to {MAX_PERFT_DEPTH}");
    plies
        .map(UciCommand::Perft)
        .ok_or(format!("go perft: {expected}, found \"{depth}\", ignored"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn go(line: &str) -> GoCommand {
        match UciCommand::parse(line) {
            Ok(UciCommand::Go(go)) => *go,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn clocks_are_those_of_the_mover() {
        let go = go("go wtime 1000 btime 2000 winc 10 binc 20 movestogo 5");
        let black = go.limit_for(Color::Black).bounds();
        assert_eq!(
            (black.time, black.inc, black.movestogo),
            (Some(Millis(2000.0)), Millis(20.0), Some(5))
        );
        assert_eq!(go.limit_for(Color::White).bounds().time, Some(Millis(1000.0)));
    }

    fn white_clock(line: &str) -> (Option<f64>, f64, bool) {
        let limit = go(line).limit_for(Color::White);
        let Bounds { time, inc, .. } = limit.bounds();
        (time.map(|time| time.0), inc.0, limit.is_infinite())
    }

    #[test]
    fn a_missing_clock_is_guessed_where_nothing_else_ends_the_search() {
        assert_eq!(white_clock("go btime 2000 binc 20"), (Some(2000.0), 20.0, false));
        assert_eq!(white_clock("go winc 300 binc 500"), (Some(300.0), 300.0, false));
        assert_eq!(white_clock("go binc 500"), (Some(500.0), 500.0, false));
        assert_eq!(white_clock("go winc 0 binc 0"), (None, 0.0, true));
        assert_eq!(
            white_clock("go wtime 0 btime 0 winc 1000 binc 1000"),
            (Some(0.0), 1000.0, false)
        );
    }

    /// A regression: the other side's clock ended a search by nodes.
    #[test]
    fn a_missing_clock_is_not_guessed_over_given_limits() {
        for limit in ["nodes 2000", "movetime 1000", "depth 8", "mate 3"] {
            for clock in [
                "btime 100",
                "btime 100 binc 10",
                "binc 10",
                "wtime 0 btime 0",
                "wtime 0",
            ] {
                let line = format!("go {limit} {clock}");
                let limit = go(&line).limit_for(Color::White);
                assert_eq!(
                    (limit.bounds().time, limit.is_infinite()),
                    (None, false),
                    "{line}"
                );
            }
            // A clock in the same `go` still counts, even at zero.
            for (clock, time) in [
                ("wtime 100", 100.0),
                ("wtime 0 btime 100", 0.0),
                ("wtime -5 btime -5", 0.0),
            ] {
                assert_eq!(
                    white_clock(&format!("go {limit} {clock}")),
                    (Some(time), 0.0, false)
                );
            }
        }
    }

    #[test]
    fn a_bare_go_is_infinite() {
        assert!(go("go").is_infinite);
        assert!(go("go searchmoves e2e4").is_infinite);
        assert!(!go("go nodes 5").is_infinite);
        assert!(!go("go ponder wtime 5").is_infinite);
        assert!(go("go ponder").is_infinite);
    }

    #[test]
    fn faults_of_go_leave_the_rest_alone() {
        let go = go("go wtime abc winc nodes 5 hurry");
        assert_eq!(go.bounds.nodes, Some(Nodes(5)));
        assert_eq!(
            go.errors,
            [
                "go wtime: expected a number of milliseconds, found \"abc\", parameter ignored",
                "go winc: expected a number of milliseconds, found \"\", parameter ignored",
                "go: unknown parameter \"hurry\", ignored",
            ]
        );
    }

    /// A regression: the word was taken for the number, or for a move.
    #[test]
    fn searchmoves_ends_other_parameters() {
        let go = go("go nodes searchmoves e2e4 searchmoves d2d4");
        assert_eq!(
            (go.search_moves, go.errors.len()),
            (vec!["e2e4".to_owned(), "d2d4".to_owned()], 1)
        );
        assert_eq!(
            self::go("go searchmoves e2e4 nodes 7").bounds.nodes,
            Some(Nodes(7))
        );
    }

    /// A regression: `go perft 5` began a search without end.
    #[test]
    fn perft_is_no_search() {
        assert_eq!(UciCommand::parse("go perft 5"), Ok(UciCommand::Perft(5)));
        for (line, found) in [("go perft", ""), ("go perft -1", "-1"), ("go perft 9", "9")] {
            let error = UciCommand::parse(line).unwrap_err();
            assert!(
                error.ends_with(&format!("plies up to 8, found \"{found}\", ignored")),
                "{error}"
            );
        }
    }

    #[test]
    fn option_names_and_values_may_have_spaces() {
        for (line, name, value) in [
            (
                "setoption  name Weights File value C:\\my nets\\a.pb.gz",
                "Weights File",
                "C:\\my nets\\a.pb.gz",
            ),
            (
                "  setoption name LogFile value  /my  logs/a  b.txt \r\n",
                "LogFile",
                "/my  logs/a  b.txt",
            ),
            ("setoption name ClearTree", "ClearTree", ""),
        ] {
            let (name, value) = (name.into(), value.into());
            assert_eq!(UciCommand::parse(line), Ok(UciCommand::SetOption { name, value }));
        }
        for line in ["setoption Threads 2", "setoption name value 2"] {
            let error = UciCommand::parse(line).unwrap_err();
            assert!(error.starts_with("setoption: expected \"name NAME"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(line in "(go|setoption|position|uci|)( [a-z0-9-]{0,9}){0,12}") {
            let _ = UciCommand::parse(&line);
        }
    }
}
