//! What a search comes to, whoever drives it.

use super::quick_look::quick_look;
use crate::chess::{History, Move};
use crate::network::cache::EvalCache;
use crate::note::Note;
use crate::search::{Outcome, SearchContext, SearchInfo};
use crate::time::Limit;

/// Completes the outcome of a search of `game` by notes, and by a guess if nothing was evaluated. A wanted
/// reply is guessed if the search has looked at none. Gives the report of a guess, which the search has not
/// made.
pub(super) fn complete(
    outcome: &mut Outcome,
    game: &History,
    context: &SearchContext,
    limit: Limit,
    wants_reply: bool,
) -> Option<SearchInfo> {
    let notes = &mut outcome.notes;
    notes.extend(outcome.failure.clone().map(Note::Error));
    if let Some(moves) = limit.bounds().mate
        && !outcome.figures.stats.has_mate_in(moves)
    {
        notes.push(format!("no mate in {moves} has been found").into());
    }
    let has_choice = game.legal_moves().len() > 1;
    let mut last_info = None;
    if outcome.best.is_none() {
        if has_choice && !limit.is_ponder() {
            notes.push(
                "no evaluation has come back in time: the move is taken from a quick look at mates and captures"
                    .into(),
            );
        }
        let guess = quick_look(game, context.answer_moves(), &context.cache);
        outcome.best = guess.map(|guess| guess.mv);
        last_info = guess
            .filter(|_| !limit.is_ponder())
            .map(|guess| guess.info(context.clock.elapsed()));
    }
    if outcome.ponder.is_none() && (wants_reply || !has_choice) {
        let reply = outcome.best.and_then(|best| reply_to(best, game, &context.cache));
        if reply.is_some() {
            outcome.ponder = reply;
            last_info = last_info.or_else(|| outcome.info.clone());
        }
        let first_line = last_info.iter_mut().find_map(|info| info.lines.first_mut());
        first_line.into_iter().for_each(|line| line.moves.extend(reply));
    }
    last_info
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
