//! The options with which GUIs ask for an analysis that favours nobody, or for a weaker opponent.

use super::Settings;
use crate::options::option_group;
use crate::search::{ContemptMode, SearchParams};
use crate::time::{GoLimits, Nodes};

option_group! {
    /// The options for analysis and for weaker play.
    #[derive(Copy)]
    pub struct StrengthOptions {
        /// The GUI analyses: contempt, DrawScore, noise, temperature and UCI_LimitStrength have no effect.
        analyse_mode: bool = false, "UCI_AnalyseMode", "analyse-mode";
        /// Play about as well as UCI_Elo says, by few nodes and moves that are drawn; not in infinite search.
        limit_strength: bool = false, "UCI_LimitStrength", "limit-strength";
        /// Strength under UCI_LimitStrength with the network that comes with Zeitnot; with others it is another one.
        elo: u32 = 1500, in 1000..=2090, "UCI_Elo", "elo";
    }
}

/// What makes play as weak as asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Weakening {
    /// Visits of each search.
    pub(super) nodes: Nodes,
    /// Temperature of the draw among the moves.
    temperature: f32,
}

/// A point of the scale.
struct Level {
    elo: f64,
    nodes: f64,
    temperature: f64,
}

const fn level(elo: f64, nodes: f64, temperature: f64) -> Level {
    Level { elo, nodes, temperature }
}

/// The scale; `docs/results/programs.md` has its matches. In between, temperature and the logarithm of the nodes
/// change evenly.
const LEVELS: [Level; 5] = [
    level(700.0, 1.0, 1.0),
    level(1335.0, 1.0, 0.3),
    level(1470.0, 2.0, 0.3),
    level(1785.0, 20.0, 0.3),
    level(2090.0, 200.0, 0.3),
];

impl StrengthOptions {
    /// Returns how a search within `limits` is weakened, if it is.
    pub(super) fn weakening(&self, limits: &GoLimits) -> Option<Weakening> {
        if !self.limit_strength || self.analyse_mode || limits.infinite {
            return None;
        }
        let elo = f64::from(self.elo);
        let above = LEVELS.iter().position(|level| level.elo >= elo).unwrap_or(LEVELS.len() - 1).max(1);
        let [low, high] = [&LEVELS[above - 1], &LEVELS[above]];
        let share = ((elo - low.elo) / (high.elo - low.elo)).clamp(0.0, 1.0);
        let between = |low: f64, high: f64| low + (high - low) * share;
        Some(Weakening {
            nodes: Nodes(libm::exp(between(libm::log(low.nodes), libm::log(high.nodes))).round() as u64),
            temperature: between(low.temperature, high.temperature) as f32,
        })
    }
}

impl Settings {
    /// Returns the options as a search weakened so has them, where analysis or weaker play change some; `None` where they stay
    /// as they are.
    pub(super) fn for_search(&self, weakening: Option<Weakening>) -> Option<Settings> {
        if !self.strength.analyse_mode && weakening.is_none() {
            return None;
        }
        let mut settings = self.clone();
        let SearchParams { draw_score, noise, temperature, leaf_mate_search, .. } = &mut settings.search;
        if self.strength.analyse_mode {
            *draw_score = 0.0;
            noise.epsilon = 0.0;
            temperature.initial = 0.0;
            temperature.endgame = 0.0;
            settings.contempt.mode = ContemptMode::Disable;
        }
        if let Some(weakening) = weakening {
            *temperature = Default::default();
            temperature.initial = weakening.temperature;
            // The scale was measured without.
            *leaf_mate_search = 0;
        }
        Some(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weakening(elo: u32) -> Weakening {
        let options = StrengthOptions { limit_strength: true, elo, ..StrengthOptions::default() };
        options.weakening(&GoLimits::default()).unwrap()
    }

    #[test]
    fn more_elo_is_never_fewer_nodes_or_a_hotter_draw() {
        let scale: Vec<_> = (1000..=2090).step_by(50).map(weakening).collect();
        for pair in scale.windows(2) {
            assert!(pair[0].nodes <= pair[1].nodes && pair[0].temperature >= pair[1].temperature, "{pair:?}");
        }
        for Level { elo, nodes, .. } in &LEVELS {
            assert_eq!(weakening(*elo as u32).nodes, Nodes(*nodes as u64), "{elo}");
        }
    }

    #[test]
    fn weaker_play_overlooks_mates() {
        let mut settings = Settings::default();
        settings.strength = StrengthOptions { limit_strength: true, ..settings.strength };
        let weakening = settings.strength.weakening(&GoLimits::default());
        let weakened = settings.for_search(weakening).unwrap();
        assert!(settings.search.leaf_mate_search > 0);
        assert_eq!(weakened.search.leaf_mate_search, 0);
    }

    #[test]
    fn analysis_is_never_weakened() {
        let mut options = StrengthOptions { limit_strength: true, ..StrengthOptions::default() };
        let infinite = GoLimits { infinite: true, ..GoLimits::default() };
        assert_eq!(options.weakening(&infinite), None);
        options.analyse_mode = true;
        assert_eq!(options.weakening(&GoLimits::default()), None);
    }
}
