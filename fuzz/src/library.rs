//! The library as a host calls it, past the parsers: searches with an evaluator and a time manager that give anything.

use std::sync::Arc;

use zeitnot_engine::chess::{Move, Role, Square};
use zeitnot_engine::engine::{Engine, GoRequest, Listener, Settings};
use zeitnot_engine::network::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator};
use zeitnot_engine::time::{
    Bounds, BudgetLimit, Limit, Millis, MoveFacts, MoveReport, Nodes, Stopper, TimeManager,
};

/// Numbers and words as the input has them, then zeros.
#[derive(Clone, Debug)]
struct Input(std::vec::IntoIter<u8>);

impl Input {
    fn byte(&mut self) -> u8 {
        self.0.next().unwrap_or_default()
    }

    fn is_one_in(&mut self, many: u8) -> bool {
        self.byte().is_multiple_of(many)
    }

    /// One of those that break arithmetic, or a small one.
    fn number(&mut self) -> f64 {
        const ODD: [f64; 5] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -0.0];
        let byte = usize::from(self.byte());
        ODD.get(byte).copied().unwrap_or((byte as f64 - 128.0) / 64.0)
    }

    /// A time after which a search may end.
    fn time(&mut self) -> Option<Millis> {
        match self.byte() % 3 {
            0 => None,
            _ => Some(Millis(self.number())),
        }
    }

    fn mv(&mut self) -> Move {
        let [from, to] = [self.byte(), self.byte()].map(|square| Square::new(u32::from(square % 64)));
        let promotion = self.is_one_in(4).then_some(Role::Queen);
        Move::new(from, to, promotion)
    }
}

#[derive(Debug)]
struct Anything(BackendInfo, Input);

impl Backend for Anything {
    fn facts(&self) -> &BackendInfo {
        &self.0
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        Ok(Box::new(self.1.clone()))
    }
}

impl Evaluator for Input {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        for slot in batch {
            // Most outputs must be good, or no search would go on.
            let is_good = self.byte() % 8 != 1;
            let mut number = || if is_good { 0.5 } else { self.number() as f32 };
            slot.evaluation.wl = number();
            slot.evaluation.d = number();
            slot.evaluation.m = number();
            let logits = slot.moves.len() - usize::from(!is_good && !slot.moves.is_empty());
            slot.logits = (0..logits).map(|_| number()).collect();
        }
        Ok(())
    }
}

impl TimeManager for Input {
    fn start_move(&mut self, facts: &MoveFacts) -> Option<Box<dyn Stopper>> {
        let report = MoveReport {
            budget: self.time()?,
            ..MoveReport::default()
        };
        Some(Box::new(BudgetLimit::new(facts, report)))
    }
}

struct Silent;

impl Listener for Silent {
    fn answer(&mut self, _: &zeitnot_engine::chess::History, _: Option<zeitnot_engine::search::Outcome>) {}
}

/// Makes an engine and calls it. Every call comes back, and a best move is legal.
pub fn run(data: &[u8]) -> bool {
    let mut input = Input(Vec::from(data).into_iter());
    let mut settings = Settings::default();
    settings.memory.nn_cache_size = 1000;
    let mut info = BackendInfo::new("anything", "");
    info.preferred_threads = 1;
    let backend = Arc::new(Anything(info, input.clone()));
    let mut engine = Engine::with_backend(settings, backend).expect("the settings are good");
    let own = input.clone();
    if input.is_one_in(2) {
        engine.set_time_manager(move || Box::new(own.clone()));
    }
    let mut any = false;
    for _ in 0..4 {
        let limit = Limit::Until(Bounds {
            time: input.time(),
            inc: input.time().unwrap_or_default(),
            movestogo: Some(input.byte().into()),
            movetime: input.time(),
            nodes: input.is_one_in(2).then(|| Nodes(input.byte().into())),
            depth: input.is_one_in(4).then(|| u32::from(input.byte() % 4)),
            mate: input.is_one_in(4).then(|| input.byte().into()),
        });
        let mut game = engine.position().clone();
        if let Ok((best, _)) = engine.search(limit) {
            assert!(game.legal_moves().contains(&best), "{best:?}");
            any = true;
        }
        let request = GoRequest {
            root_moves: (0..input.byte() % 3).map(|_| input.mv()).collect(),
            ..GoRequest::new(limit)
        };
        // What has no end is stopped.
        let _ = engine.go(request, Box::new(Silent));
        engine.stopper().stop();
        engine.wait();
        let moves = game.legal_moves();
        let _ = game.try_push(input.mv());
        if let Some(mv) = moves.get(usize::from(input.byte())) {
            let fen = game.current().to_fen();
            let _ = engine.set_position(&format!("fen {fen} moves {}", game.format_move(*mv)));
        }
    }
    any
}
