//! Tests the engine as a library: what no parser of commands keeps from it.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use shakmaty::Square;
use zeitnot_engine::chess::{History, Move};
use zeitnot_engine::engine::{Engine, EngineError, GoRequest, Listener, Settings};
use zeitnot_engine::note::Note;
use zeitnot_engine::search::{Outcome, SearchInfo};
use zeitnot_engine::time::{Hints, Limit, Millis, MoveFacts, SearchStats, StopReason, Stopper, TimeManager};

fn engine() -> Engine {
    let mut settings = Settings::default();
    for (name, value) in [
        ("Backend", "random"),
        ("Threads", "1"),
        ("SmartPruningFactor", "0"),
    ] {
        settings.set(name, value).unwrap();
    }
    Engine::new(settings).unwrap()
}

/// Fails where `task` does not come back.
fn within_a_minute<T: Send + 'static>(task: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(task()));
    receiver.recv_timeout(Duration::from_secs(60)).unwrap()
}

/// Gives each move this budget, ms, or none.
#[derive(Clone, Copy, Debug)]
struct Budget(Option<f64>);

impl TimeManager for Budget {
    fn start_move(&mut self, _: &MoveFacts) -> Option<Box<dyn Stopper>> {
        self.0.is_some().then(|| Box::new(*self) as Box<dyn Stopper>)
    }
}

impl Stopper for Budget {
    fn should_stop(&mut self, stats: &SearchStats, _: &mut Hints) -> Option<StopReason> {
        (stats.elapsed.0 >= self.0?).then_some(StopReason::MoveTime)
    }

    fn deadline(&self) -> Option<Millis> {
        self.0.map(Millis)
    }
}

/// A regression: a manager without a budget hung the search.
#[test]
fn the_clock_ends_a_search_whatever_a_manager_says() {
    for budget in [None, Some(f64::INFINITY), Some(f64::NAN)] {
        let found = within_a_minute(move || {
            let mut engine = engine();
            engine.set_time_manager(move || Box::new(Budget(budget)));
            engine.search(Limit::clock(Millis(300.0), Millis(0.0)))
        });
        assert!(found.is_ok(), "{budget:?}");
    }
}

/// A regression: it never ended.
#[test]
fn a_search_for_an_infinite_time_is_refused() {
    for time in [f64::INFINITY, f64::NAN] {
        let refused = within_a_minute(move || engine().search(Limit::movetime(Millis(time))));
        assert!(matches!(refused, Err(EngineError::Endless)), "{time}");
    }
}

struct Silent;

impl Listener for Silent {
    fn info(&mut self, _: &History, _: &SearchInfo) {}
    fn note(&mut self, _: Note) {}
    fn answer(&mut self, _: &History, _: Option<Outcome>) {}
}

/// A regression: the search of a move that is not legal never ended.
#[test]
fn a_root_move_that_is_not_legal_is_refused() {
    let refused = within_a_minute(|| {
        let request = GoRequest {
            root_moves: vec![Move::new(Square::E2, Square::E7, None)],
            ..GoRequest::new(Limit::nodes(20))
        };
        let mut engine = engine();
        let refused = engine.go(request, Box::new(Silent));
        engine.wait();
        refused
    });
    let Err(error @ EngineError::RootMove(..)) = refused else {
        panic!("{refused:?}")
    };
    assert!(
        error.to_string().starts_with("e2e7 is not legal in rnbqkbnr/"),
        "{error}"
    );
}
