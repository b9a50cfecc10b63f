//! Texts with a grammar: time managers, backends, time controls. Lines of the input are tried as each of them.

use zeitnot_engine::network::backends::BackendConfig;
use zeitnot_engine::params::Params;
use zeitnot_engine::time::{Limit, Millis, MoveFacts, TimeControl, manager_from};

/// Reads each line as every kind of parameter; a manager that comes out plans a move.
pub fn run(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    let is_of_use = |line: &str| {
        let controlled = line.parse::<TimeControl>().is_ok_and(|control| {
            let again: TimeControl = control.to_string().parse().expect("it was written by ourselves");
            again.moves == control.moves
        });
        let configured = BackendConfig::parse(line, "").is_ok() | BackendConfig::parse("demux", line).is_ok();
        let parsed = Params::parse(line).is_ok();
        controlled | configured | plans(line) | parsed
    };
    text.lines()
        .take(20)
        .fold(false, |any, line| any | is_of_use(line))
}

/// Lets the manager that `text` describes plan moves: what it gives lies between 0 and what the clock has.
fn plans(text: &str) -> bool {
    let Ok(mut manager) = manager_from(text) else {
        return false;
    };
    for time_ms in [0.0, 17.0, 3_000.0, 900_000.0] {
        let limit = Limit::clock(Millis(time_ms), Millis(20.0));
        let facts = MoveFacts {
            limit,
            pieces: 20,
            legal_moves: 30,
            ..MoveFacts::default()
        };
        let Some(stopper) = manager.start_move(&facts) else {
            continue;
        };
        let Some(report) = stopper.report() else { continue };
        let budget = report.budget.0;
        assert!(
            budget >= 0.0 && budget <= time_ms.max(0.0) + 20.0,
            "{text}: {budget} of {time_ms} ms"
        );
    }
    true
}
