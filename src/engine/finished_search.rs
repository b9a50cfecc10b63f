//! A search that its caller waits for.

use std::sync::mpsc::{Sender, channel};

use super::{Engine, EngineError, GoRequest, Listener, SearchAnswer};
use crate::chess::{History, Move};
use crate::search::{SearchInfo, SearchResult};
use crate::time::GoLimits;

/// A search that has ended and found a move.
#[derive(Clone, Debug)]
pub struct FinishedSearch {
    /// The move to play.
    pub best: Move,
    /// The result of the search.
    pub result: SearchResult,
    /// What people were told meanwhile.
    pub notes: Vec<String>,
}

impl Engine {
    /// Searches the present position until `limits`, which must have an end, are reached.
    ///
    /// # Errors
    /// Fails as [`Engine::go`] does, and with [`EngineError::NoResult`] if the search fails or there is no legal move.
    pub fn search(&mut self, limits: GoLimits) -> Result<FinishedSearch, EngineError> {
        let (sender, answers) = channel();
        self.go(GoRequest::new(limits), Box::new(AnswerCollector { answers: sender, notes: Vec::new() }))?;
        self.wait();
        let (answer, notes) = answers.try_recv().unwrap_or_default();
        let SearchAnswer { best, result, .. } = answer;
        let failure = result.as_ref().and_then(|result| result.failure.clone());
        match (best, result) {
            (Some(best), Some(result)) if failure.is_none() => Ok(FinishedSearch { best, result, notes }),
            _ => Err(EngineError::NoResult {
                position: self.position().current().to_fen(),
                reason: failure.unwrap_or_else(|| notes.join("; ")),
            }),
        }
    }
}

/// Hands the answer of a search over, with the messages that came before.
struct AnswerCollector {
    answers: Sender<(SearchAnswer, Vec<String>)>,
    notes: Vec<String>,
}

impl Listener for AnswerCollector {
    fn info(&mut self, _: &History, _: &SearchInfo) {}

    fn note(&mut self, text: &str) {
        self.notes.push(text.into());
    }

    fn answer(&mut self, _: &History, answer: SearchAnswer) {
        // The receiver waits for it.
        let _ = self.answers.send((answer, std::mem::take(&mut self.notes)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Settings;
    use crate::time::Nodes;

    #[test]
    fn a_search_ends_with_a_result_or_the_reason_why_there_is_none() {
        let mut settings = Settings::default();
        settings.network.backend = "random".into();
        let mut engine = Engine::new(settings).unwrap();
        let limits = GoLimits { nodes: Some(Nodes(10)), ..GoLimits::default() };
        let found = engine.search(limits.clone()).unwrap();
        assert_eq!(found.result.best, Some(found.best));
        assert_eq!(found.result.summary.nodes, 10);
        engine.set_position("fen 7k/5KQ1/8/8/8/8/8/8 b - - 0 1").unwrap();
        let error = engine.search(limits.clone()).unwrap_err().to_string();
        assert_eq!(
            error,
            "no result for 7k/5KQ1/8/8/8/8/8/8 b - - 0 1: there is no legal move in this position"
        );
        engine.set_position("fen nonsense").unwrap_err();
        assert!(matches!(engine.search(limits), Err(EngineError::NoPosition(_))));
    }
}
