//! Where the games come from that threads play: the schedule of a match, or a run that decides on the way who plays.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::schedule::{GameAssignment, Schedule};
use super::{MatchError, Team};

/// Hands out games to the threads that play them.
pub trait GameSource: Sync {
    /// Returns what a thread does next that has room for one more game.
    ///
    /// # Errors
    /// [`MatchError`] if the engines of the next game cannot be made ready.
    fn next(&self) -> Result<NextGame, MatchError>;

    /// Says whether games under way are to be given up, as when the user stops the run.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// What a thread does that has room for one more game.
#[derive(Debug)]
pub enum NextGame {
    /// It begins this one.
    Begin(PlannedGame),
    /// It goes on with its others: the next one depends on games that are under way.
    Later,
    /// It goes on with its others: there is no next one.
    End,
}

/// A game that is to be played.
#[derive(Debug)]
pub struct PlannedGame {
    /// Its place in the order in which finished games are handed out; places follow each other without gaps.
    pub place: u64,
    /// Its number, pair and colours.
    pub assignment: GameAssignment,
    /// The engines A and B. Their networks are those of the [`MatchConfig`](super::MatchConfig).
    pub teams: [Team; 2],
}

/// The games of a schedule, all between the same two engines.
#[derive(Debug)]
pub struct ScheduledGames<'a> {
    schedule: &'a Schedule,
    teams: &'a [Team; 2],
    /// The user wants the match to stop.
    stop: &'a AtomicBool,
    /// The index in the schedule of the game that begins next. Its ordering is relaxed: the counter publishes no other data.
    next: AtomicU64,
}

impl<'a> ScheduledGames<'a> {
    /// Returns the games from place `first` of the schedule on. `stop` becomes true when the user stops the match.
    pub fn new(
        schedule: &'a Schedule,
        teams: &'a [Team; 2],
        first: u64,
        stop: &'a AtomicBool,
    ) -> ScheduledGames<'a> {
        ScheduledGames { schedule, teams, stop, next: AtomicU64::new(first) }
    }
}

impl GameSource for ScheduledGames<'_> {
    fn next(&self) -> Result<NextGame, MatchError> {
        let place = self.next.fetch_add(1, Ordering::Relaxed);
        let teams = self.teams.clone();
        let planned =
            self.schedule.assignment(place).map(|assignment| PlannedGame { place, assignment, teams });
        Ok(planned.map_or(NextGame::End, NextGame::Begin))
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
