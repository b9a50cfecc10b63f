//! Reads a line of JSON as a [`Command`].

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use zeitnot_engine::chess::{History, Move, Variant};
use zeitnot_engine::engine::{GoRequest, Settings, Setup};
use zeitnot_engine::options::{OptionChoice, nearest_name, option_choice};
use zeitnot_engine::time::{Bounds, Limit, Millis, Nodes};

/// As a refusal lists them.
const FIELDS: &str = "id, fen, moves, chess960, plies, nodes, movetime, depth, mate, infinite, multipv, searchmoves, \
                      report_every, options, priority, action";
/// Longest time in a query: eleven days.
const MAX_MS: u64 = 1_000_000_000;
const LEAST_REPORT_MS: u64 = 10;
/// Each answer to a query repeats its id.
const MAX_ID: usize = 200;
const NO_ID: &str = "expected a string or a number";
const FLAG: &str = "true or false";

pub(super) enum Command {
    Search(Box<Query>),
    Act(Action, Option<Id>),
}

option_choice! {
    pub(super) enum Action {
        Cancel = "cancel",
        CancelAll = "cancel_all",
        ClearCache = "clear_cache",
        Version = "version",
        Status = "status",
    }
}

pub(super) struct Query {
    pub(super) id: Id,
    pub(super) game: Arc<History>,
    /// The positions, by the moves played before them.
    pub(super) plies: BTreeSet<usize>,
    pub(super) request: GoRequest,
    pub(super) setup: Arc<Setup>,
    pub(super) report_every: Option<Duration>,
    pub(super) priority: i32,
    pub(super) warnings: Vec<String>,
}

/// A refused line, or a position that could not be searched.
#[derive(Debug, Serialize)]
pub(super) struct QueryError {
    pub(super) id: Option<Id>,
    #[serde(rename = "error")]
    pub(super) reason: String,
    /// Null if no field is wrong.
    pub(super) field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ply: Option<usize>,
}

impl QueryError {
    pub(super) fn new(id: Option<Id>, reason: impl ToString) -> QueryError {
        QueryError {
            id,
            reason: reason.to_string(),
            field: None,
            ply: None,
        }
    }
}

type Refusal = (String, String);

fn refuse<T>(field: &str, reason: impl ToString) -> Result<T, Refusal> {
    Err((field.into(), reason.to_string()))
}

/// A string or a number as it was written.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub(super) struct Id(pub(super) Box<RawValue>);

impl Id {
    fn read(text: &RawValue) -> Result<Id, Refusal> {
        let raw = match text.get().as_bytes() {
            // One text, however it is escaped.
            [b'"', ..] => serde_json::from_str::<String>(text.get())
                .and_then(|text| to_raw_value(&text))
                .or_else(|error| refuse("id", error))?,
            [b'-' | b'0'..=b'9', ..] => text.to_owned(),
            _ => return refuse("id", NO_ID),
        };
        let bytes = raw.get().len();
        if bytes > MAX_ID {
            return refuse("id", format!("expected at most {MAX_ID} bytes, found {bytes}"));
        }
        Ok(Id(raw))
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Id) -> bool {
        self.0.get() == other.0.get()
    }
}

/// The keys and values of an object in their order. A key may come twice.
struct Entries(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Entries, D::Error> {
        struct EntriesVisitor;
        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(EntriesVisitor)
    }
}

impl Entries {
    fn get(&self, key: &str) -> Option<&RawValue> {
        let (_, value) = self.0.iter().find(|(known, _)| known == key)?;
        Some(value)
    }

    /// The values behind their keys. `name` names a key in a refusal.
    fn into_map(self, name: impl Fn(&str) -> String) -> Result<Map<String, Value>, Refusal> {
        let mut map = Map::new();
        for (key, value) in self.0 {
            let value = serde_json::from_str(value.get()).or_else(|error| refuse(&name(&key), error))?;
            if map.contains_key(&key) {
                return refuse(&name(&key), "it is there twice");
            }
            map.insert(key, value);
        }
        Ok(map)
    }
}

impl Command {
    /// Fails if the line is no JSON object, or a field is wrong.
    ///
    /// A query changes options of `setup` for itself, and takes `nodes` if it has no limit.
    pub(super) fn parse(line: &str, setup: &Arc<Setup>, nodes: u64) -> Result<Command, QueryError> {
        let entries: Entries = serde_json::from_str(line)
            .map_err(|error| QueryError::new(None, format!("expected a JSON object on one line: {error}")))?;
        let id = entries.get("id").map_or_else(|| refuse("id", NO_ID), Id::read);
        let known = id.clone().ok();
        let fields = Fields::read(entries, id);
        let command = fields.and_then(|fields| fields.command(setup, nodes));
        command.map_err(|(field, reason)| QueryError {
            field: Some(field),
            ..QueryError::new(known, reason)
        })
    }
}

struct Fields {
    id: Result<Id, Refusal>,
    options: Map<String, Value>,
    others: Map<String, Value>,
}

impl Fields {
    fn read(entries: Entries, id: Result<Id, Refusal>) -> Result<Fields, Refusal> {
        let mut options = Map::new();
        if let Some(text) = entries.get("options") {
            let named: Entries = serde_json::from_str(text.get())
                .or_else(|_| refuse("options", "expected an object of names and values"))?;
            options = named.into_map(|name| format!("options.{name}"))?;
        }
        Ok(Fields {
            id,
            options,
            others: entries.into_map(str::to_owned)?,
        })
    }

    fn command(&self, setup: &Arc<Setup>, nodes: u64) -> Result<Command, Refusal> {
        for name in self.others.keys() {
            if !FIELDS.split(", ").any(|field| field == name) {
                let hint = match nearest_name(name, FIELDS.split(", ")) {
                    Some(near) => format!("; did you mean {near}?"),
                    None => String::new(),
                };
                return refuse(name, format!("unknown field{hint} (fields: {FIELDS})"));
            }
        }
        let Some(action) = self.others.get("action") else {
            return self.query(setup, nodes);
        };
        for name in self.others.keys() {
            if !["id", "action"].contains(&name.as_str()) {
                return refuse(name, "an action has no such field");
            }
        }
        let Some(action) = action.as_str().and_then(Action::from_name) else {
            return refuse(
                "action",
                "expected cancel, cancel_all, clear_cache, version or status",
            );
        };
        // Most actions need no id, and any null is none.
        let id = match self.others.get("id") {
            None | Some(Value::Null) if action != Action::Cancel => None,
            _ => Some(self.id.clone()?),
        };
        Ok(Command::Act(action, id))
    }

    fn query(&self, setup: &Arc<Setup>, nodes: u64) -> Result<Command, Refusal> {
        let id = self.id.clone()?;
        let setup = self.setup(setup)?;
        let game = self.game(setup.settings().chess960)?;
        let plies = self.plies(&game)?;
        let limit = self.limit(nodes)?;
        let report_every = self.number("report_every", LEAST_REPORT_MS..=MAX_MS)?;
        Ok(Command::Search(Box::new(Query {
            id,
            request: GoRequest {
                root_moves: self.root_moves(&game, &plies)?,
                ..GoRequest::new(limit)
            },
            plies,
            setup,
            report_every: report_every.map(Duration::from_millis),
            priority: self.get("priority", "a whole number")?.unwrap_or_default(),
            warnings: game
                .left_out()
                .iter()
                .map(|part| format!("fen: {part}"))
                .collect(),
            game: Arc::new(game),
        })))
    }

    fn game(&self, chess960: bool) -> Result<History, Refusal> {
        let variant = Variant::of_chess960(chess960);
        let mut game = match self.get("fen", "a string")? {
            None | Some("startpos") => History::from_position(History::start().current().clone(), variant),
            Some(fen) => History::from_fen(fen, variant).or_else(|error| refuse("fen", error))?,
        };
        for (number, text) in (1..).zip(self.strings("moves")?) {
            let parsed =
                parse_move(&game, text).or_else(|error| refuse("moves", format!("move {number}: {error}")));
            game.push(parsed?);
        }
        Ok(game)
    }

    fn plies(&self, game: &History) -> Result<BTreeSet<usize>, Refusal> {
        let last = game.len() - 1;
        match self.others.get("plies") {
            None => Ok(BTreeSet::from([last])),
            Some(Value::String(all)) if all == "all" => Ok((0..=last).collect()),
            Some(list @ Value::Array(plies)) if !plies.is_empty() => match BTreeSet::deserialize(list) {
                Ok(plies) if plies.iter().all(|&ply| ply <= last) => Ok(plies),
                _ => refuse("plies", format!("expected whole numbers from 0 to {last}")),
            },
            Some(_) => refuse("plies", "expected \"all\", or a list of numbers of moves played"),
        }
    }

    fn limit(&self, default: u64) -> Result<Limit, Refusal> {
        let mut bounds = Bounds {
            nodes: self.number("nodes", 1..=u64::from(u32::MAX))?.map(Nodes),
            movetime: self.number("movetime", 1..=MAX_MS)?.map(|ms| Millis(ms as f64)),
            depth: self.number("depth", 1..=1_000)?.map(|depth| depth as u32),
            mate: self.number("mate", 1..=1_000)?.map(|moves| moves as u32),
            ..Bounds::default()
        };
        if self.get("infinite", FLAG)?.unwrap_or_default() {
            return Ok(Limit::Infinite);
        }
        // A mate may never be found.
        if !Limit::Until(bounds).has_end() {
            bounds.nodes = Some(Nodes(default));
        }
        Ok(Limit::Until(bounds))
    }

    fn root_moves(&self, game: &History, plies: &BTreeSet<usize>) -> Result<Vec<Move>, Refusal> {
        let texts = self.strings("searchmoves")?;
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let Some(&ply) = plies.first().filter(|_| plies.len() == 1) else {
            return refuse("searchmoves", "expected a query of one position");
        };
        let mut position = game.clone();
        position.truncate(ply + 1);
        let moves: Result<_, _> = texts
            .into_iter()
            .map(|text| parse_move(&position, text))
            .collect();
        moves.or_else(|error| refuse("searchmoves", error))
    }

    fn setup(&self, common: &Arc<Setup>) -> Result<Arc<Setup>, Refusal> {
        let mut settings = common.settings().clone();
        for (name, value) in &self.options {
            set_option(&mut settings, name, value)?;
        }
        settings.chess960 = self.get("chess960", FLAG)?.unwrap_or(settings.chess960);
        if let Some(lines) = self.number("multipv", 1..=500)? {
            settings.info.multi_pv = lines as usize;
        }
        if settings == *common.settings() {
            return Ok(common.clone());
        }
        common
            .with_settings(settings)
            .map(Arc::new)
            .or_else(|error| refuse("options", error))
    }

    fn number(&self, field: &str, range: std::ops::RangeInclusive<u64>) -> Result<Option<u64>, Refusal> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        match self.get(field, &expected)? {
            Some(number) if !range.contains(&number) => {
                refuse(field, format!("expected {expected}, found {number}"))
            }
            number => Ok(number),
        }
    }

    fn strings(&self, field: &str) -> Result<Vec<&str>, Refusal> {
        Ok(self.get(field, "a list of strings")?.unwrap_or_default())
    }

    fn get<'a, T: Deserialize<'a>>(&'a self, field: &str, expected: &str) -> Result<Option<T>, Refusal> {
        let Some(value) = self.others.get(field) else {
            return Ok(None);
        };
        T::deserialize(value)
            .map(Some)
            .or_else(|_| refuse(field, format!("expected {expected}, found {value}")))
    }
}

/// In UCI's notation or algebraic notation.
fn parse_move(game: &History, text: &str) -> Result<Move, String> {
    game.current().read_move(text).map_err(|error| error.to_string())
}

/// Sets an option of the search. Network, tables and memory are the server's.
fn set_option(settings: &mut Settings, name: &str, value: &Value) -> Result<(), Refusal> {
    let field = format!("options.{name}");
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        _ => return refuse(&field, "expected a string, a number, true or false"),
    };
    if Settings::spec(name).is_ok_and(|spec| spec.name == "LogFile") {
        return refuse(&field, "it acts in a UCI session only");
    }
    let before = settings.clone();
    settings.set(name, &text).or_else(|error| refuse(&field, error))?;
    if settings.network != before.network
        || settings.tablebase != before.tablebase
        || settings.memory != before.memory
    {
        return refuse(
            &field,
            "the server has one for all queries; give it on its command line",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: u64 = 700;

    fn common() -> Arc<Setup> {
        let mut settings = Settings::default();
        settings.set("Backend", "random").unwrap();
        Arc::new(Setup::new(settings).unwrap())
    }

    fn parse(lines: &[&str]) -> Vec<Result<Command, QueryError>> {
        let common = common();
        let parse = |line: &&str| Command::parse(line, &common, NODES);
        lines.iter().map(parse).collect()
    }

    fn query(line: &str) -> Query {
        match parse(&[line]).remove(0) {
            Ok(Command::Search(query)) => *query,
            Ok(_) => panic!("{line}: an action"),
            Err(error) => panic!("{line}: {error:?}"),
        }
    }

    #[test]
    fn a_wrong_line_is_refused_with_its_field() {
        let cases = [
            ("", "", "expected a JSON object"),
            ("[]", "", "expected a JSON object"),
            (r#"{"id":1}{"id":2}"#, "", "trailing characters"),
            (r#"{"moves":[]}"#, "id", "expected a string or a number"),
            (r#"{"id":{"a":1}}"#, "id", "expected a string or a number"),
            (
                r#"{"id":null,"action":"cancel"}"#,
                "id",
                "expected a string or a number",
            ),
            (r#"{"id":1,"node":5}"#, "node", "did you mean nodes?"),
            (
                r#"{"id":1,"action":"stop"}"#,
                "action",
                "expected cancel, cancel_all",
            ),
            (
                r#"{"id":1,"action":"cancel","nodes":5}"#,
                "nodes",
                "an action has no such field",
            ),
            (r#"{"id":1,"fen":5}"#, "fen", "expected a string"),
            (r#"{"id":1,"fen":"8/8/8/8/8/8/8/8 w - - 0 1"}"#, "fen", ""),
            (r#"{"id":1,"moves":"e4"}"#, "moves", "expected a list of strings"),
            (
                r#"{"id":1,"moves":["e4",5]}"#,
                "moves",
                "expected a list of strings",
            ),
            (r#"{"id":1,"moves":["e4","e4"]}"#, "moves", "move 2: "),
            (r#"{"id":1,"plies":[1]}"#, "plies", "from 0 to 0"),
            (r#"{"id":1,"plies":[]}"#, "plies", "expected \"all\""),
            (r#"{"id":1,"plies":[-1],"moves":["e4"]}"#, "plies", "from 0 to 1"),
            (r#"{"id":1,"nodes":0}"#, "nodes", "from 1 to 4294967295, found 0"),
            (r#"{"id":1,"nodes":1.5}"#, "nodes", "found 1.5"),
            (r#"{"id":1,"nodes":99999999999999999999999}"#, "nodes", "found 1e"),
            (
                r#"{"id":1,"movetime":"5"}"#,
                "movetime",
                "expected a whole number",
            ),
            (r#"{"id":1,"infinite":1}"#, "infinite", "expected true or false"),
            (r#"{"id":1,"report_every":9}"#, "report_every", "from 10 "),
            (
                r#"{"id":1,"priority":9999999999}"#,
                "priority",
                "expected a whole number",
            ),
            (r#"{"id":1,"searchmoves":["e5"]}"#, "searchmoves", ""),
            (
                r#"{"id":1,"moves":["e4"],"plies":"all","searchmoves":["e5"]}"#,
                "searchmoves",
                "one position",
            ),
            (r#"{"id":1,"options":[]}"#, "options", "expected an object"),
            (
                r#"{"id":1,"options":{"CPuct":[]}}"#,
                "options.CPuct",
                "expected a string, a number",
            ),
            (r#"{"id":1,"options":{"NoSuch":1}}"#, "options.NoSuch", ""),
            (
                r#"{"id":1,"options":{"Threads":2}}"#,
                "options.Threads",
                "the server has one for all queries",
            ),
            (
                r#"{"id":1,"options":{"Backend":"trivial"}}"#,
                "options.Backend",
                "the server has one",
            ),
            (
                r#"{"id":1,"options":{"logfile":""}}"#,
                "options.logfile",
                "a UCI session only",
            ),
            (r#"{"id":1,"nodes":5,"nodes":6}"#, "nodes", "it is there twice"),
            (r#"{"id":1,"id":2}"#, "id", "it is there twice"),
            (
                r#"{"id":1,"options":{"CPuct":1,"CPuct":1}}"#,
                "options.CPuct",
                "it is there twice",
            ),
        ];
        let lines = cases.map(|(line, ..)| line);
        for ((line, field, reason), parsed) in cases.into_iter().zip(parse(&lines)) {
            let Err(error) = parsed else {
                panic!("{line} is taken")
            };
            assert_eq!(
                error.field.as_deref().unwrap_or_default(),
                field,
                "{line}: {error:?}"
            );
            assert!(error.reason.contains(reason), "{line}: {error:?}");
            let has_id = line.starts_with(r#"{"id":1,"#);
            assert_eq!(
                error.id.map(|id| id.0.get().to_owned()),
                has_id.then(|| "1".into()),
                "{line}"
            );
        }
    }

    #[test]
    fn ids_come_back_as_they_were_written_and_are_short() {
        let id = |text: &str| query(&format!(r#"{{"id":{text}}}"#)).id.0.get().to_owned();
        for text in [
            "-0",
            "123456789012345678901234567890",
            "1.50",
            "1e2",
            "\"a\\n\"",
            "\"é\"",
        ] {
            assert_eq!(id(text), text);
        }
        assert_eq!(id("\"\\u0041\""), "\"A\"", "one text, however it is escaped");
        assert_eq!(id(&"7".repeat(200)).len(), 200);
        for long in ["7".repeat(201), format!("\"{}\"", "é".repeat(100))] {
            let Err(error) = parse(&[&format!(r#"{{"id":{long}}}"#)]).remove(0) else {
                panic!("{long}")
            };
            assert!(
                error.field.as_deref() == Some("id") && error.id.is_none(),
                "{error:?}"
            );
        }
    }

    #[test]
    fn deep_json_is_refused_and_does_not_fill_the_stack() {
        let deep = format!(
            r#"{{"id":1,"moves":{}{}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        assert!(
            parse(&[&deep])
                .remove(0)
                .is_err_and(|error| error.reason.contains("recursion limit"))
        );
        let deep = format!(r#"{{"id":1,"moves":{}"#, "[".repeat(1_000_000));
        assert!(
            parse(&[&deep])
                .remove(0)
                .is_err_and(|error| error.reason.contains("EOF"))
        );
    }

    #[test]
    fn any_limit_replaces_the_default() {
        let nodes = |line: &str| query(line).request.limit.bounds().nodes;
        assert_eq!(nodes(r#"{"id":1}"#), Some(Nodes(NODES)));
        assert_eq!(nodes(r#"{"id":1,"nodes":5,"movetime":10}"#), Some(Nodes(5)));
        for limit in [
            r#""movetime":10"#,
            r#""depth":3"#,
            r#""mate":2,"depth":3"#,
            r#""infinite":true"#,
        ] {
            assert_eq!(nodes(&format!(r#"{{"id":1,{limit}}}"#)), None, "{limit}");
        }
        assert_eq!(nodes(r#"{"id":1,"infinite":false}"#), Some(Nodes(NODES)));
        // A regression: a query for a mate that is not there never ended.
        assert_eq!(nodes(r#"{"id":1,"moves":["e4"],"mate":2}"#), Some(Nodes(NODES)));
    }

    #[test]
    fn positions_are_those_after_the_moves_named() {
        let plies = |fields: &str| {
            let query = query(&format!(r#"{{"id":"x","moves":["e4","e7e5","Nf3"]{fields}}}"#));
            assert_eq!(query.game.len(), 4);
            query.plies.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(plies(""), [3]);
        assert_eq!(plies(r#","plies":"all""#), [0, 1, 2, 3]);
        assert_eq!(plies(r#","plies":[2,0,2]"#), [0, 2], "each once");
        assert_eq!(query(r#"{"id":1,"fen":"startpos"}"#).game.len(), 1);
        // Moves at the root belong to the position that is searched.
        let query = query(r#"{"id":1,"moves":["e4","e5"],"plies":[1],"searchmoves":["c5","e7e5"]}"#);
        assert_eq!(query.request.root_moves.len(), 2);
    }

    #[test]
    fn options_belong_to_their_query() {
        let common = common();
        let setup = |line: &str| match Command::parse(line, &common, NODES) {
            Ok(Command::Search(query)) => query.setup,
            _ => panic!("{line}"),
        };
        let plain = setup(r#"{"id":1,"chess960":false}"#);
        assert!(Arc::ptr_eq(&plain, &common), "nothing was changed");
        let changed = setup(r#"{"id":1,"multipv":3,"options":{"CPuct":2.5,"ScoreType":"WDL_mu"}}"#);
        assert_eq!(changed.settings().info.multi_pv, 3);
        assert_ne!(*changed.settings(), *common.settings());
        assert_eq!(*setup(r#"{"id":1}"#).settings(), *common.settings());
    }
}
