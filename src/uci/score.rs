//! Computes the number after `score cp` in the forms of Lc0's option `ScoreType`, from [`ScoreType`] and a value. Used by
//! `format`.

use crate::engine::ScoreType;
use crate::search::PvLine;
use crate::time::centipawns;

/// If draws and the likelier of win and loss together are above this share, the mean advantage says nothing any more.
const SURE_RESULT: f32 = 0.996;

/// Returns the score of a line in the form `form`, cut towards zero as Lc0 does.
pub(super) fn score(form: ScoreType, line: &PvLine) -> i32 {
    let (wl, q) = (f64::from(line.wl), f64::from(line.q));
    let score = match form {
        ScoreType::Centipawn => centipawns(wl),
        ScoreType::CentipawnWithDrawScore => centipawns(q),
        ScoreType::Centipawn2019 => 295.0 * wl / (1.0 - 0.976_953_126 * wl.powi(14)),
        ScoreType::Centipawn2018 => 290.680_623_072 * (1.548_090_806 * wl).tan(),
        ScoreType::WinPercentage => 5000.0 + 5000.0 * wl,
        ScoreType::Q => 10_000.0 * q,
        ScoreType::WinMinusLoss => 10_000.0 * wl,
        ScoreType::WdlMu => mu_or_centipawns(line),
    };
    score as i32
}

/// Returns the mean advantage while it says something, else centipawns that continue it.
fn mu_or_centipawns(line: &PvLine) -> f64 {
    let fallback = 45.0 * (1.567_280_716_28 * f64::from(line.wl)).tan();
    match line.mu {
        Some(mu) if line.wl.abs() + line.d < SURE_RESULT => {
            let score = 100.0 * f64::from(mu);
            // Beyond an even chance to win the larger of both counts.
            if mu.abs() < 1.0 || fallback.abs() < score.abs() { score } else { fallback }
        }
        _ => fallback,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::OptionChoice;

    fn line(wl: f32, d: f32, mu: Option<f32>) -> PvLine {
        PvLine { q: wl, wl, d, mu, nodes: 1, moves_left: None, mate: None, moves: Vec::new() }
    }

    fn score(name: &str, line: &PvLine) -> i32 {
        super::score(ScoreType::from_name(name).unwrap(), line)
    }

    #[test]
    fn every_form_worked_by_hand() {
        for (name, tenth, half) in [
            // 90 · tan(0.156375) = 14.19; 90 · tan(0.781877) = 89.37
            ("centipawn", 14, 89),
            ("centipawn_with_drawscore", 14, 89),
            // 295 · 0.1 = 29.5; 147.5 / (1 − 0.976953 / 16384) = 147.51
            ("centipawn_2019", 29, 147),
            // 290.68 · tan(0.154809) = 45.36; 290.68 · tan(0.774045) = 284.15
            ("centipawn_2018", 45, 284),
            ("win_percentage", 5500, 7500),
            ("Q", 1000, 5000),
            ("W-L", 1000, 5000),
            // Without a mean: 45 · tan(0.156728) = 7.11; 45 · tan(0.783640) = 44.84
            ("WDL_mu", 7, 44),
        ] {
            assert_eq!(
                (score(name, &line(0.1, 0.0, None)), score(name, &line(0.5, 0.0, None))),
                (tenth, half)
            );
            if name != "win_percentage" {
                assert_eq!(score(name, &line(-0.5, 0.0, None)), -half, "{name}");
            }
        }
    }

    #[test]
    fn the_draw_score_counts_in_two_forms_only() {
        let line = PvLine { q: 0.5, ..line(0.1, 0.4, None) };
        let scores = ["centipawn_with_drawscore", "Q", "centipawn", "W-L"].map(|name| score(name, &line));
        assert_eq!(scores, [89, 5000, 14, 1000]);
    }

    #[test]
    fn the_mean_advantage_counts_while_it_says_something() {
        // w = 0.4, l = 0.1: μ = 0.6884
        assert_eq!(score("WDL_mu", &line(0.3, 0.5, Some(0.688_4))), 68);
        // Nearly certain: 45 · tan(1.56728 · 0.9) = 278.41
        assert_eq!(score("WDL_mu", &line(0.9, 0.097, Some(2.5))), 278);
        // Beyond 1, centipawns of 44.84 are below 150 …
        assert_eq!(score("WDL_mu", &line(0.5, 0.4, Some(1.5))), 150);
        // … and those of 45 · tan(1.56728 · 0.95) = 548.36 are not
        assert_eq!(score("WDL_mu", &line(0.95, 0.03, Some(1.5))), 548);
    }

    #[test]
    fn certain_results_stay_in_range() {
        for form in ["centipawn", "centipawn_2019", "centipawn_2018", "WDL_mu"] {
            let best = score(form, &line(1.0, 0.0, None));
            assert!((10_000..20_000).contains(&best), "{form} {best}");
        }
    }
}
