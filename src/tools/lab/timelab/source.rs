//! Reads the games from the files of `--pgn`, as far as they are in this shard.

use std::path::{Path, PathBuf};

use super::TimelabArgs;
use crate::lab::pgn::{GameError, Games, RecordedGame};
use crate::lab::replay::GameToReplay;
use crate::tools::lab::run::Shard;
use crate::tools::output::eprint_message;
use crate::tools::{ExitStatus, Failure};

/// Games that are taken through network and managers at a time.
const CHUNK: usize = 64;

/// A game, or the problem with it, and its file.
type FoundGame<'a> = (&'a Path, Result<RecordedGame, GameError>);

/// The games of this shard from all files, in their order.
pub(super) struct GameSource<'a> {
    args: &'a TimelabArgs,
    files: std::slice::Iter<'a, PathBuf>,
    open: Option<(&'a Path, Games<'static>)>,
    /// Games that are fit to replay, in all shards.
    accepted: u64,
    left_out: u64,
}

impl<'a> GameSource<'a> {
    pub(super) fn new(args: &'a TimelabArgs) -> GameSource<'a> {
        GameSource { args, files: args.pgn.iter(), open: None, accepted: 0, left_out: 0 }
    }

    /// Reads at most [`CHUNK`] games, none at the end. It names broken games on stderr and makes the status bad input.
    pub(super) fn next_chunk(&mut self, status: &mut ExitStatus) -> Result<Vec<GameToReplay>, Failure> {
        let shard = self.args.shard.unwrap_or(Shard::WHOLE);
        let mut chunk = Vec::new();
        while chunk.len() < CHUNK && self.args.max_games.is_none_or(|most| self.accepted < most) {
            let Some((path, game)) = self.next_game()? else { break };
            match game {
                Ok(game) => {
                    let Some(game) = self.accept(game) else { continue };
                    if shard.takes(game.number - 1) {
                        chunk.push(game);
                    }
                }
                Err(broken) => {
                    eprint_message(format_args!("{}: {broken}", path.display()));
                    *status = ExitStatus::BadInput;
                }
            }
        }
        Ok(chunk)
    }

    fn next_game(&mut self) -> Result<Option<FoundGame<'a>>, Failure> {
        loop {
            if let Some((path, games)) = &mut self.open {
                match games.next() {
                    Some(Err(fatal @ GameError::Read { .. })) => {
                        return Err(Failure::Input(fatal.to_string()));
                    }
                    Some(game) => return Ok(Some((path, game))),
                    None => {}
                }
            }
            let Some(path) = self.files.next() else { return Ok(None) };
            let games = Games::open(path).map_err(|error| Failure::Input(error.to_string()))?;
            self.open = Some((path, games));
        }
    }

    fn accept(&mut self, game: RecordedGame) -> Option<GameToReplay> {
        let game = GameToReplay::new(self.accepted + 1, game, self.args.min_moves)
            .filter(|game| !self.args.recorded_clocks || game.recorded_control().is_some());
        match game {
            Some(_) => self.accepted += 1,
            None => self.left_out += 1,
        }
        game
    }

    pub(super) fn tell_what_was_left_out(&self) {
        if self.left_out > 0 {
            eprint_message(format_args!(
                "{} games left out: too short, unfinished, ended by an accident{}",
                self.left_out,
                if self.args.recorded_clocks { ", or without clocks" } else { "" }
            ));
        }
    }
}
