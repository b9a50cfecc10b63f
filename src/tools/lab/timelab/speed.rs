//! `--speed`: sets how fast the modelled engine searches.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;

use serde::Deserialize;

use crate::chess::{History, Variant};
use crate::lab::replay::SpeedModel;
use crate::tools::Failure;

/// Endgames are faster than openings by this factor under `phase`, as with small networks on a CPU.
const ENDGAME_SPEED: f64 = 1.6;

/// The part of the output of `bench --json` that is read.
#[derive(Deserialize)]
struct ReplaySpeedReport {
    positions: Vec<BenchPosition>,
}

#[derive(Deserialize)]
struct BenchPosition {
    position: String,
    nps: f64,
}

/// Parses `constant`, `phase`, or the name of a file with a measurement.
///
/// # Errors
/// [`Failure::Input`] if the file cannot be read or is no output of `bench`.
pub(super) fn parse(text: &str, nps: f64) -> Result<SpeedModel, Failure> {
    match text {
        "constant" => Ok(SpeedModel::Constant(nps)),
        "phase" => Ok(SpeedModel::ByPhase { opening: nps, endgame: ENDGAME_SPEED * nps }),
        file => measured(file),
    }
}

fn measured(file: &str) -> Result<SpeedModel, Failure> {
    let fault = |error: &dyn std::fmt::Display| {
        Failure::Input(format!(
            "--speed {file}: {error}; expected constant, phase, or a file that \"zeitnot bench --json\" wrote"
        ))
    };
    let reader = BufReader::new(File::open(file).map_err(|error| fault(&error))?);
    let report: ReplaySpeedReport = serde_json::from_reader(reader).map_err(|error| fault(&error))?;
    let mut by_pieces = BTreeMap::<u32, Vec<f64>>::new();
    for BenchPosition { position, nps } in report.positions {
        let history = History::to_evaluate(&position, Variant::Chess960).map_err(|error| fault(&error))?;
        by_pieces.entry(history.current().piece_count() as u32).or_default().push(nps);
    }
    if by_pieces.is_empty() {
        return Err(fault(&"no positions"));
    }
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    Ok(SpeedModel::Measured(by_pieces.iter().map(|(&pieces, all)| (pieces, mean(all))).collect()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn models_and_measurements() {
        assert_eq!(parse("constant", 500.0).unwrap(), SpeedModel::Constant(500.0));
        assert_eq!(parse("phase", 500.0).unwrap().nps(2), 800.0);
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let bare = "fen 8/8/4k3/8/8/3K4/8/8 w - - 0 1";
        write!(
            file,
            r#"{{"nodes": 9, "positions": [{{"position": "startpos", "nps": 100}}, {{"position": "{bare}", "nps": 200.0}},
                {{"position": "{bare}", "nps": 400.0}}]}}"#
        )
        .unwrap();
        let speed = parse(file.path().to_str().unwrap(), 1.0).unwrap();
        assert_eq!(speed, SpeedModel::Measured(vec![(2, 300.0), (32, 100.0)]));
    }

    #[test]
    fn faults_say_what_is_expected() {
        let fault = parse("no-such-file", 1.0).unwrap_err().to_string();
        assert!(fault.contains("constant, phase, or a file"), "{fault}");
    }
}
