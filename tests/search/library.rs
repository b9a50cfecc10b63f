//! Tests the engine as a library: what no parser of commands keeps from it.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use shakmaty::Square;
use zeitnot_engine::chess::{History, Move};
use zeitnot_engine::engine::{Engine, EngineError, GoRequest, Listener, Settings};
use zeitnot_engine::network::backends::{BackendConfig, create};
use zeitnot_engine::search::{EndReason, Outcome, SearchInfo};
use zeitnot_engine::serve::Searcher;
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

/// A regression: searches for an infinite time never ended, and those for a negative one had no nodes.
#[test]
fn a_time_that_is_none_is_refused() {
    for time in [f64::INFINITY, f64::NAN, -5.0] {
        let fixed = Limit::movetime(Millis(time));
        let clock = Limit::clock(Millis(time), Millis(0.0));
        let increment = Limit::clock(Millis(1000.0), Millis(time));
        for limit in [fixed, clock, increment, Limit::Ponder(Some(fixed.bounds()))] {
            let refused = within_a_minute(move || {
                let mut engine = engine();
                engine.go(GoRequest::new(limit), Box::new(Silent))
            });
            assert!(matches!(refused, Err(EngineError::Time { .. })), "{limit:?}");
        }
    }
}

/// A regression: the option reopened the backend that options name, and an own one was lost.
#[test]
fn an_own_backend_stays_until_an_option_names_another() {
    let own = create(&BackendConfig::parse("trivial", "").unwrap(), None).unwrap();
    let mut engine = Engine::with_backend(Settings::default(), own).unwrap();
    for (name, value, evaluates) in [
        ("UCI_LimitStrength", "true", "trivial"),
        ("UCI_LimitStrength", "false", "trivial"),
        ("PolicyHead", "optimistic", "trivial"),
        ("Threads", "1", "trivial"),
        ("Backend", "random", "random"),
    ] {
        engine.set_option(name, value).unwrap();
        engine.search(Limit::nodes(2)).unwrap();
        assert_eq!(engine.backend().unwrap().name, evaluates, "{name}={value}");
    }
}

#[test]
fn a_search_is_stopped_by_another_thread() {
    for position in ["startpos", "fen 7k/6Q1/5K2/8/8/8/8/8 b - - 0 1"] {
        let (answers, outcome) = within_a_minute(move || {
            let mut engine = engine();
            engine.set_position(position).unwrap();
            let (sender, heard) = mpsc::channel();
            let stopper = engine.stopper();
            engine
                .go(
                    GoRequest::new(Limit::Infinite),
                    Box::new(Reports(sender, ControlFlow::Continue(()))),
                )
                .unwrap();
            let other = thread::spawn(move || stopper.stop());
            other.join().unwrap();
            engine.wait();
            (heard.iter().count(), engine.is_searching())
        });
        assert_eq!((answers, outcome), (1, false), "{position}");
    }
}

/// The stop comes while the search begins.
#[test]
fn a_search_that_is_waited_for_can_be_stopped() {
    let found = within_a_minute(|| {
        let mut engine = engine();
        let stopper = engine.stopper();
        engine.set_time_manager(move || {
            stopper.stop();
            Box::new(Budget(None))
        });
        engine.search(Limit::clock(Millis(1e9), Millis(0.0)))
    });
    assert_eq!(found.unwrap().1.reason, EndReason::Stopped);
}

#[test]
fn a_listener_ends_its_search() {
    let answers = within_a_minute(|| {
        let mut engine = engine();
        let (sender, heard) = mpsc::channel();
        engine
            .go(
                GoRequest::new(Limit::Infinite),
                Box::new(Reports(sender, ControlFlow::Break(()))),
            )
            .unwrap();
        engine.wait();
        heard.iter().count()
    });
    assert_eq!(answers, 1);
}

#[test]
fn a_listener_ends_its_search_in_a_pool() {
    let answers = within_a_minute(|| {
        let searcher = Searcher::open(engine().settings().clone(), |_, _| 2).unwrap();
        let (sender, heard) = mpsc::channel();
        let game = Arc::new(History::start());
        let request = GoRequest::new(Limit::Infinite);
        let mut order = searcher.order(
            game,
            &[0],
            request,
            Box::new(Reports(sender, ControlFlow::Break(()))),
        );
        order.report_every = Some(Duration::ZERO);
        searcher.submit(vec![order]);
        heard.iter().count()
    });
    assert_eq!(answers, 1);
}

#[test]
fn a_move_that_is_not_legal_is_not_played() {
    let mut game = History::start();
    game.try_push(Move::new(Square::E2, Square::E4, None)).unwrap();
    for (from, to) in [(Square::E4, Square::E6), (Square::E2, Square::E3)] {
        game.try_push(Move::new(from, to, None)).unwrap_err();
        assert_eq!(game.len(), 2);
    }
}

/// Passes answers on, and replies to reports.
struct Reports(Sender<()>, ControlFlow<()>);

impl Listener for Reports {
    fn info(&mut self, _: &History, _: &SearchInfo) -> ControlFlow<()> {
        self.1
    }
    fn answer(&mut self, _: &History, _: Option<Outcome>) {
        self.0.send(()).unwrap();
    }
}

struct Silent;

impl Listener for Silent {
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
        error.to_string().contains("e2e7 is not legal in \"rnbqkbnr/"),
        "{error}"
    );
}
