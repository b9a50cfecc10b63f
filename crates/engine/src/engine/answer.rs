//! What a search comes to, whoever drives it: the move, and what there is to tell.

use super::quick_look::quick_look;
use crate::chess::{History, Move};
use crate::network::cache::EvalCache;
use crate::note::Note;
use crate::search::{SearchContext, SearchInfo, SearchResult};
use crate::time::Limit;

#[derive(Debug)]
pub(super) struct Answer {
    /// `None` only without a legal move.
    pub(super) best: Option<Move>,
    pub(super) ponder: Option<Move>,
    pub(super) told: Vec<Note>,
    /// A report that the search itself has not made: of a guess, or with a guessed reply.
    pub(super) last_info: Option<SearchInfo>,
}

impl Answer {
    /// The answer to a search of `game` within `limits`. Where a reply is wanted, one is guessed even if
    /// the search has looked at none.
    pub(super) fn of(
        result: &SearchResult,
        (game, context): (&History, &SearchContext),
        limits: Limit,
        wants_reply: bool,
    ) -> Answer {
        let mut told = Vec::new();
        told.extend(result.failure.clone().map(Note::Error));
        if let Some(moves) = limits.bounds().mate
            && !result.stats.has_mate_in(moves)
        {
            told.push(format!("no mate in {moves} has been found").into());
        }
        let has_choice = game.legal_moves().len() > 1;
        let must_guess = result.best.is_none();
        if must_guess && has_choice && !limits.is_ponder() {
            told.push(
                "no evaluation has come back in time: the move is taken from a quick look at mates and captures"
                    .into(),
            );
        }
        let look = || quick_look(game, context.answer_moves(), &context.cache);
        let guess = must_guess.then(look).flatten();
        let best = result.best.or(guess.map(|guess| guess.mv));
        let guessed_reply = best
            .filter(|_| result.ponder.is_none() && (wants_reply || !has_choice))
            .and_then(|best| reply_to(best, game, &context.cache));
        let guessed_info = guess
            .filter(|_| !limits.is_ponder())
            .map(|guess| guess.info(result.summary.time));
        let mut last_info = guessed_info.or_else(|| result.info.clone().filter(|_| guessed_reply.is_some()));
        let first_line = last_info.iter_mut().filter_map(|info| info.lines.first_mut());
        first_line.for_each(|line| line.moves.extend(guessed_reply));
        Answer {
            best,
            ponder: result.ponder.or(guessed_reply),
            told,
            last_info,
        }
    }
}

/// A reply to an unevaluated `best`, unless the game is over.
fn reply_to(best: Move, game: &History, cache: &EvalCache) -> Option<Move> {
    let mut after = game.clone();
    after.push(best);
    let is_over = after.terminal(&after.legal_moves()).is_some();
    quick_look(&after, &[], cache)
        .filter(|_| !is_over)
        .map(|look| look.mv)
}
