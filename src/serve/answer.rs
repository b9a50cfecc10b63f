//! The server's output: one JSON object a line.

use serde::Serialize;

use super::query::Id;
use zeitnot_engine::chess::History;
use zeitnot_engine::search::{LineValue, MoveStats, PvLine, SearchInfo};
use zeitnot_engine::serve::PoolStatus;

/// An answer, or a report before it.
#[derive(Serialize)]
pub(super) struct Answer<'a> {
    pub(super) id: &'a Id,
    /// Moves of the query played before it.
    pub(super) ply: usize,
    pub(super) turn: &'static str,
    /// False for a report.
    #[serde(rename = "final")]
    pub(super) is_final: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    /// So far in a report. Null without a legal move, or if nothing was evaluated.
    pub(super) best: Option<String>,
    #[serde(flatten)]
    pub(super) figures: Option<Figures>,
    pub(super) moves: Vec<MoveFigures>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub(super) warnings: &'a [String],
}

#[derive(Serialize)]
pub(crate) struct Figures {
    visits: u64,
    /// The best move's, proofs counted, as under UCI.
    #[serde(flatten)]
    value: ValueFigures,
    depth: u32,
    seldepth: u32,
    time_ms: f64,
    tbhits: u64,
    /// Visits and evaluations a second.
    nps: u64,
    eps: u64,
    /// Positions in a batch, as a mean.
    batch: f64,
    /// Share of the visits that needed no evaluation, as the cache had it.
    cached: f64,
}

/// For the side to move. Null of a move without visits.
#[derive(Default, Serialize)]
struct ValueFigures {
    /// Win minus loss.
    q: Option<f32>,
    wdl: Option<[f32; 3]>,
    /// The score that UCI shows by default.
    centipawns: Option<i32>,
    /// To the end of the game.
    plies_left: Option<f32>,
    mate: Option<i32>,
}

impl ValueFigures {
    fn of(value: &LineValue) -> ValueFigures {
        ValueFigures {
            q: Some(value.q),
            wdl: Some(wdl(value.wl, value.d)),
            centipawns: Some(value.mean_advantage() as i32),
            plies_left: value.moves_left,
            mate: value.mate,
        }
    }
}

#[derive(Serialize)]
pub(super) struct MoveFigures {
    r#move: String,
    visits: u64,
    #[serde(flatten)]
    value: ValueFigures,
    /// The network's.
    policy: Option<f32>,
    /// The search's, after PolicyTemperature and noise.
    prior: Option<f32>,
    pv: Vec<String>,
}

impl Figures {
    pub(crate) fn of(info: &SearchInfo) -> Figures {
        let best = info.lines.first().and_then(|best| best.value.as_ref());
        Figures {
            visits: info.nodes,
            value: best.map(ValueFigures::of).unwrap_or_default(),
            depth: info.depth,
            seldepth: info.seldepth,
            time_ms: (info.time.as_secs_f64() * 1e6).round() / 1e3,
            tbhits: info.counts.tablebase_hits,
            nps: info.nps,
            eps: info.eps,
            batch: ratio(info.counts.evaluations, info.counts.batches),
            cached: ratio(info.counts.cache_hits, info.counts.visits()),
        }
    }
}

impl MoveFigures {
    /// Of `most` moves, also of those that a proof has left without a line.
    pub(super) fn all(root: &History, info: &SearchInfo, most: usize) -> Vec<MoveFigures> {
        let mut others: Vec<_> = info.move_stats.iter().flat_map(|stats| &stats.moves).collect();
        let mut all = Vec::new();
        for line in &info.lines {
            let place = others
                .iter()
                .position(|stats| line.moves.first() == Some(&stats.mv));
            all.push(MoveFigures::of(
                root,
                line,
                place.map(|place| others.remove(place)),
            ));
        }
        others.sort_by(|a, b| b.node.policy.total_cmp(&a.node.policy));
        for stats in others {
            let line = PvLine {
                moves: vec![stats.mv],
                ..PvLine::default()
            };
            all.push(MoveFigures::of(root, &line, Some(stats)));
        }
        all.truncate(most);
        all
    }

    fn of(root: &History, line: &PvLine, stats: Option<&MoveStats>) -> MoveFigures {
        let pv = root.format_line(&line.moves);
        // The position's value is not the move's.
        let value = line.value.as_ref();
        let own = value.filter(|value| line.nodes > 0 || value.mate.is_some());
        MoveFigures {
            r#move: pv.first().cloned().unwrap_or_default(),
            visits: line.nodes,
            value: own.map(ValueFigures::of).unwrap_or_default(),
            policy: stats.map(|stats| stats.network_policy),
            prior: stats.map(|stats| stats.node.policy),
            pv,
        }
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn wdl(wl: f32, d: f32) -> [f32; 3] {
    zeitnot_engine::network::Value { wl, d, m: 0.0 }
        .wdl()
        .map(|p| p.clamp(0.0, 1.0))
}

#[derive(Serialize)]
pub(super) struct ActionAnswer<'a, T> {
    pub(super) id: Option<&'a Id>,
    pub(super) action: &'a str,
    #[serde(flatten)]
    pub(super) result: T,
}

#[derive(Serialize)]
pub(super) struct ServerStatus {
    pub(super) clients: usize,
    pub(super) threads: usize,
    #[serde(flatten)]
    pub(super) pool: PoolStatus,
    pub(super) uptime_ms: u64,
    pub(super) busy_ms: Option<u64>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::RawValue;

    use super::*;
    use crate::serve::query::QueryError;
    use zeitnot_engine::chess::Variant;
    use zeitnot_engine::search::{NodeStats, RootStats};

    #[test]
    fn probabilities_are_between_0_and_1_and_add_up() {
        assert_eq!(wdl(0.25, 0.5), [0.375, 0.5, 0.125]);
        assert_eq!(wdl(1.0, 0.0), [1.0, 0.0, 0.0]);
        // A backend may be slightly off.
        assert_eq!(wdl(-1.0, 1e-3), [0.0, 1e-3, 0.9995]);
    }

    #[test]
    fn moves_of_a_line_are_written_as_they_stand_after_one_another() {
        let root = History::from_fen("r3k2r/8/8/8/8/8/P7/R3K2R b KQkq - 0 1", Variant::Standard);
        let mut game = root.clone().unwrap();
        let line = ["e8g8", "e1c1", "f8e8"].map(|text| {
            let mv = game.current().read_move(text).unwrap();
            game.push(mv);
            mv
        });
        assert_eq!(root.unwrap().format_line(&line), ["e8g8", "e1c1", "f8e8"]);
    }

    /// Without a visit a proof alone says what a move is worth. Those without a line stand behind, likelier
    /// ones first.
    #[test]
    fn proven_moves_have_a_value_and_others_come_by_their_prior() {
        let root = History::start();
        let move_of = |text: &str| root.current().read_move(text).unwrap();
        let stats = |text: &str, policy: f32| {
            let node = NodeStats {
                visits: 0,
                in_flight: 0,
                policy,
                mean: None,
                q: 0.0,
                v: None,
                is_certain: false,
            };
            MoveStats {
                mv: move_of(text),
                policy_index: 0,
                network_policy: policy,
                node,
                u: 0.0,
                s: 0.0,
            }
        };
        let moves = vec![stats("a2a3", 0.1), stats("d2d4", 0.6), stats("e2e4", 0.3)];
        let line = PvLine {
            moves: vec![move_of("e2e4")],
            value: Some(LineValue {
                mate: Some(3),
                ..LineValue::default()
            }),
            ..PvLine::default()
        };
        let info = SearchInfo {
            lines: vec![line],
            move_stats: Some(RootStats {
                root: moves[0].node,
                moves,
            }),
            ..SearchInfo::default()
        };
        let all = serde_json::to_value(MoveFigures::all(&root, &info, 3)).unwrap();
        let found: Vec<_> = all
            .as_array()
            .unwrap()
            .iter()
            .map(|of| (&of["move"], &of["mate"]))
            .collect();
        let expected = [
            (json!("e2e4"), json!(3)),
            (json!("d2d4"), json!(null)),
            (json!("a2a3"), json!(null)),
        ];
        assert_eq!(found, expected.each_ref().map(|(text, mate)| (text, mate)));
    }

    #[test]
    fn what_is_not_known_is_left_out_or_null() {
        let id = Id(RawValue::from_string("\"a\"".into()).unwrap());
        let answer = Answer {
            id: &id,
            ply: 2,
            turn: "white",
            is_final: true,
            reason: None,
            best: None,
            figures: None,
            moves: Vec::new(),
            warnings: &[],
        };
        let bare = json!({ "id": "a", "ply": 2, "turn": "white", "final": true, "best": null, "moves": [] });
        assert_eq!(serde_json::to_value(&answer).unwrap(), bare);
        let error = QueryError::new(None, "no");
        assert_eq!(
            serde_json::to_value(&error).unwrap(),
            json!({ "id": null, "error": "no", "field": null })
        );
        let action = ActionAnswer {
            id: Some(&id),
            action: "cancel",
            result: json!({ "cancelled": 3 }),
        };
        let expected = json!({ "id": "a", "action": "cancel", "cancelled": 3 });
        assert_eq!(serde_json::to_value(&action).unwrap(), expected);
        let action = ActionAnswer {
            id: Some(&id),
            action: "clear_cache",
            result: (),
        };
        assert_eq!(
            serde_json::to_value(&action).unwrap(),
            json!({ "id": "a", "action": "clear_cache" })
        );
    }
}
