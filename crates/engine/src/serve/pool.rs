//! The search threads and their queue.
//!
//! A thread lets its open searches gather leaves, evaluates these together, and takes further searches
//! between rounds. Each finds what it would find alone, except for shared cache entries.
//!
//! If more searches are wanted than may be open, one gives its place after its turn to one of another owner
//! or of a higher priority. One without an end gives it at once to one that ends.
//!
//! A lone search cannot fill a device this way. The pool lends it workers, who search it as under UCI, with
//! several batches in flight. On a CPU only a pool for one search does so.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use serde::Serialize;
use thiserror::Error;

use crate::chess::History;
use crate::engine::{EngineError, EnginePlayer, GoRequest, Listener, Played, Setup, SharedBatch};
use crate::network::cache::EvalCache;
use crate::network::{Backend, BackendError, Evaluator};
use crate::note::Note;
use crate::search::{NextStep, Outcome, STACK_BYTES, WorkerPool, WorkerPoolError};

/// Gatherings of one search before its thread turns to the others.
const ROUNDS: u32 = 256;
/// Between two looks whether a client has read its answers.
const ROOM_TICK: Duration = Duration::from_millis(20);
/// The turn of a search whose place others want.
const TURN: Duration = Duration::from_secs(1);
const PANIC: &str = "the search panicked";

/// Positions of a game to search in turn. Each search reuses the tree below the moves played.
pub struct Order {
    pub game: Arc<History>,
    /// Each is a number of moves played.
    pub plies: VecDeque<usize>,
    /// Of each search, whose time counts from its beginning.
    pub request: GoRequest,
    pub setup: Arc<Setup>,
    pub cache: Arc<EvalCache>,
    pub report_every: Option<Duration>,
    /// The largest is searched first.
    pub priority: i32,
    /// Owners take turns within a priority.
    pub owner: u64,
    /// Ends the search. Relaxed suffices, because every round reads it.
    pub stop: Arc<AtomicBool>,
    /// Gets an answer per search, or a note why there is no result.
    pub listener: Box<dyn Listener>,
}

impl Order {
    fn claim(&self) -> Claim {
        Claim {
            priority: self.priority,
            owner: self.owner,
            ends: !self.request.limit.is_infinite(),
        }
    }

    fn position(&self) -> History {
        let mut position = (*self.game).clone();
        position.truncate(self.plies.front().copied().unwrap_or_default() + 1);
        position
    }

    /// Answers every position of the order without searching it, `reason` as a note.
    fn give_up(mut self, reason: Option<String>) {
        self.listener.hear(reason.map(Note::Error));
        while !self.plies.is_empty() {
            self.answer(None);
        }
    }

    fn answer(&mut self, outcome: Option<Outcome>) {
        self.listener.answer(&self.position(), outcome);
        self.plies.pop_front();
    }
}

#[derive(Clone, Copy, Debug)]
pub struct PoolSize {
    pub threads: usize,
    /// Open orders in all threads together, at least one per thread.
    pub searches: usize,
    pub(super) workers: usize,
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the queue is full: {waiting} positions wait, of {most} that may")]
pub struct QueueFull {
    waiting: usize,
    most: usize,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct PoolStatus {
    /// Paused searches among them.
    pub waiting: usize,
    pub searching: usize,
    #[serde(skip)]
    paused: usize,
    searched: u64,
    nodes: u64,
}

pub(super) struct Shared {
    backend: Arc<dyn Backend>,
    size: PoolSize,
    /// The thread to which they are lent takes them out.
    workers: Mutex<Option<WorkerPool>>,
    state: Mutex<PoolState>,
    /// Signals new orders, or that no more will come.
    changed: Condvar,
}

#[derive(Default)]
struct PoolState {
    queue: Queue,
    status: PoolStatus,
    is_closed: bool,
}

impl PoolState {
    fn has_one_search(&self, size: &PoolSize) -> bool {
        size.searches == 1 || size.threads > 1 && self.status.searching == 1 && self.queue.len == 0
    }

    /// The searches that each thread should have, and whether others wait for a place.
    fn share(&self, size: &PoolSize) -> (usize, bool) {
        let all = self.queue.len + self.status.searching + self.status.paused;
        let share = all.min(size.searches).div_ceil(size.threads).max(1);
        (share, all > size.searches)
    }

    /// Whether a lone search's thread would take another one beside it or in its `place`.
    fn wants(&self, size: &PoolSize, place: &Place) -> bool {
        let (share, is_crowded) = self.share(size);
        let takes = |order: &Order| share > 1 || is_crowded && place.takes(order, share);
        let mut orders = self.queue.levels.values().flatten().flat_map(|line| &line.orders);
        orders.any(|order| takes(order) && order.listener.has_room())
            || is_crowded && place.paused.iter().any(|&paused| place.is_for(paused))
    }
}

impl Shared {
    pub(super) fn new(backend: Arc<dyn Backend>, size: PoolSize) -> Result<Shared, WorkerPoolError> {
        let needs_workers = size.searches == 1 || backend.facts().queues > 0;
        let workers = needs_workers
            .then(|| WorkerPool::new(&*backend, size.workers))
            .transpose()?;
        Ok(Shared {
            backend,
            size,
            workers: Mutex::new(workers),
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }
}

/// A backend with its pool, search options and one cache, for many positions.
pub struct Searcher {
    pub setup: Arc<Setup>,
    pub cache: Arc<EvalCache>,
    pub size: PoolSize,
    /// Bytes of answers that may be unread, and of games that may wait.
    pub answer_bytes: usize,
    /// Ends all searches without a flag of their own.
    pub(super) stop: Arc<AtomicBool>,
    pub(super) shared: Arc<Shared>,
    pub(super) threads: Vec<JoinHandle<()>>,
}

impl Searcher {
    pub(super) fn start_threads(&mut self) -> Result<(), WorkerPoolError> {
        for index in 0..self.size.threads {
            let evaluator = self.shared.backend.evaluator()?;
            let shared = self.shared.clone();
            let batch = SharedBatch::default();
            let thread = SearchThread {
                shared,
                evaluator,
                open: Vec::new(),
                batch,
                lent: None,
            };
            let builder = thread::Builder::new()
                .name(format!("search-{index}"))
                .stack_size(STACK_BYTES);
            let started = builder.spawn(move || thread.run());
            self.threads
                .push(started.map_err(|error| WorkerPoolError::thread(&error))?);
        }
        Ok(())
    }

    /// Queues `orders`, each of a position with a legal move.
    pub fn submit(&self, orders: Vec<Order>) {
        // No queue is longer than that.
        let _ = self.submit_within(orders, usize::MAX);
    }

    /// Queues all of `orders`, or none of them if more than `most` would wait then.
    pub fn submit_within(&self, orders: Vec<Order>, most: usize) -> Result<(), QueueFull> {
        let mut state = self.shared.state.lock();
        let waiting = state.queue.len;
        if waiting + orders.len() > most {
            return Err(QueueFull { waiting, most });
        }
        orders.into_iter().for_each(|order| state.queue.push(order));
        drop(state);
        self.shared.changed.notify_all();
        Ok(())
    }

    /// Answers waiting orders whose `stop` is set. Those being searched end by themselves.
    pub fn remove_stopped(&self) {
        let removed = self.shared.state.lock().queue.remove_stopped();
        removed.into_iter().for_each(|order| order.give_up(None));
    }

    pub fn status(&self) -> PoolStatus {
        let state = self.shared.state.lock();
        PoolStatus {
            waiting: state.queue.len + state.status.paused,
            ..state.status
        }
    }
}

impl Drop for Searcher {
    /// Callers wait for answers before.
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        self.remove_stopped();
        self.shared.state.lock().is_closed = true;
        self.shared.changed.notify_all();
        // A panic needs no handling.
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// By priority, then one order of every owner in turn.
#[derive(Default)]
struct Queue {
    levels: BTreeMap<Reverse<i32>, VecDeque<Line>>,
    len: usize,
}

struct Line {
    owner: u64,
    orders: VecDeque<Order>,
}

impl Queue {
    fn push(&mut self, order: Order) {
        let level = self.levels.entry(Reverse(order.priority)).or_default();
        match level.iter_mut().find(|line| line.owner == order.owner) {
            Some(line) => line.orders.push_back(order),
            None => level.push_back(Line {
                owner: order.owner,
                orders: VecDeque::from([order]),
            }),
        }
        self.len += 1;
    }

    /// Takes the next order that `is_wanted` and whose listener has room.
    fn pop(&mut self, is_wanted: impl Fn(&Order) -> bool) -> Option<Order> {
        let found = self.levels.iter().find_map(|(&level, lines)| {
            lines.iter().enumerate().find_map(|(place, line)| {
                let has_room = line.orders.front().is_some_and(|order| order.listener.has_room());
                let index = line.orders.iter().position(&is_wanted).filter(|_| has_room)?;
                Some((level, place, index))
            })
        });
        let (level, place, index) = found?;
        let lines = self.levels.get_mut(&level)?;
        let mut line = lines.remove(place)?;
        let order = line.orders.remove(index);
        if !line.orders.is_empty() {
            lines.push_back(line);
        } else if lines.is_empty() {
            self.levels.remove(&level);
        }
        self.len -= usize::from(order.is_some());
        order
    }

    fn remove_stopped(&mut self) -> Vec<Order> {
        let (mut kept, mut removed) = (Queue::default(), Vec::new());
        for line in std::mem::take(&mut self.levels).into_values().flatten() {
            for order in line.orders {
                if order.stop.load(Relaxed) {
                    removed.push(order)
                } else {
                    kept.push(order)
                }
            }
        }
        *self = kept;
        removed
    }
}

struct SearchThread {
    shared: Arc<Shared>,
    evaluator: Box<dyn Evaluator>,
    open: Vec<OpenSearch>,
    batch: SharedBatch,
    /// The pool's workers, who search the only search that is not paused.
    lent: Option<WorkerPool>,
}

struct OpenSearch {
    order: Order,
    player: EnginePlayer,
    reported: Instant,
    waits: bool,
    /// It gives way to others.
    is_paused: bool,
    /// When it was last opened, paused or resumed.
    since: Instant,
}

/// Of an order, where others want the same place.
#[derive(Clone, Copy)]
struct Claim {
    priority: i32,
    owner: u64,
    ends: bool,
}

/// Of the search of a thread that gives way first.
struct Place {
    index: usize,
    claim: Claim,
    /// When its turn is over.
    until: Instant,
    /// Owners who search in the same thread.
    owners: Vec<u64>,
    /// Searches that are paused there.
    paused: Vec<Claim>,
}

impl Place {
    fn is_for(&self, other: Claim) -> bool {
        let is_higher = other.priority > self.claim.priority;
        let has_turn =
            is_higher || other.priority == self.claim.priority && !self.owners.contains(&other.owner);
        let goes_ahead = other.priority >= self.claim.priority && other.ends && !self.claim.ends;
        goes_ahead || has_turn && Instant::now() >= self.until
    }

    /// Whether the order may have it, in a thread with this share of the searches.
    fn takes(&self, order: &Order, share: usize) -> bool {
        let claim = order.claim();
        let most = if claim.ends { 2 * share } else { share };
        self.paused.len() < most && self.is_for(claim)
    }
}

impl SearchThread {
    /// Searches until no more orders come. A panic costs only the open searches.
    fn run(mut self) {
        loop {
            match catch_unwind(AssertUnwindSafe(|| self.search())) {
                Ok(()) => return,
                Err(_) => self.fail(PANIC),
            }
        }
    }

    fn search(&mut self) {
        while self.take_orders() {
            self.search_lone_one();
            self.gather();
            if let Err(error) = self.evaluate() {
                self.fail(&error.to_string());
            }
        }
    }

    /// Waits if it has none. False when no more will come.
    fn take_orders(&mut self) -> bool {
        let shared = self.shared.clone();
        let mut state = shared.state.lock();
        loop {
            let (share, is_crowded) = state.share(&shared.size);
            let paused = self.open.iter().filter(|search| search.is_paused).count();
            let order = if self.open.len() - paused < share {
                let paused = self.open.iter().filter(|search| search.is_paused);
                state
                    .queue
                    .pop(|order| paused.clone().all(|search| search.lets_in(order)))
            } else {
                let Some(place) = self.place().filter(|_| is_crowded) else {
                    return true;
                };
                let order = state.queue.pop(|order| place.takes(order, share));
                if order.is_none() {
                    let waiting = self.open.iter_mut().filter(|search| search.is_paused);
                    let waiting = waiting.filter(|search| place.is_for(search.order.claim()));
                    let Some(next) = waiting.min_by_key(|search| search.since) else {
                        return true;
                    };
                    next.pause(false, &mut state);
                }
                self.open[place.index].pause(true, &mut state);
                let Some(order) = order else { continue };
                Some(order)
            };
            match order {
                Some(order) => {
                    state.status.searching += 1;
                    drop(state);
                    self.open(order);
                    state = shared.state.lock();
                }
                None if paused > 0 => {
                    let resumed = self.open.iter_mut().filter(|search| search.is_paused);
                    if let Some(search) =
                        resumed.max_by_key(|search| (search.order.priority, Reverse(search.since)))
                    {
                        search.pause(false, &mut state);
                    }
                }
                None if !self.open.is_empty() => return true,
                None if state.is_closed && state.queue.len == 0 => return false,
                // Who has room again does not say so.
                None if state.queue.len > 0 => drop(shared.changed.wait_for(&mut state, ROOM_TICK)),
                None => shared.changed.wait(&mut state),
            }
        }
    }

    fn place(&self) -> Option<Place> {
        let active = || {
            self.open
                .iter()
                .enumerate()
                .filter(|(_, search)| !search.is_paused)
        };
        let (index, search) = active()
            .min_by_key(|(_, search)| (search.order.priority, search.order.claim().ends, search.since))?;
        let paused = self.open.iter().filter(|search| search.is_paused);
        Some(Place {
            index,
            claim: search.order.claim(),
            until: search.since + TURN,
            owners: active().map(|(_, search)| search.order.owner).collect(),
            paused: paused.map(|search| search.order.claim()).collect(),
        })
    }

    fn open(&mut self, order: Order) {
        match EnginePlayer::of_search(order.setup.clone(), order.cache.clone()) {
            Ok(player) => {
                let now = Instant::now();
                self.open.push(OpenSearch {
                    order,
                    player,
                    reported: now,
                    waits: false,
                    is_paused: false,
                    since: now,
                });
                self.begin(self.open.len() - 1);
            }
            Err(error) => self.give_up(order, Some(error.to_string())),
        }
    }

    fn begin(&mut self, place: usize) {
        let search = &mut self.open[place];
        let is_stopped = search.order.stop.load(Relaxed);
        let begun = catch_unwind(AssertUnwindSafe(
            || if is_stopped { Ok(()) } else { search.begin() },
        ));
        let failure = begun.map_or(Some(PANIC.into()), |begun| {
            begun.err().map(|error| error.to_string())
        });
        if is_stopped || failure.is_some() {
            let order = self.open.remove(place).order;
            self.give_up(order, failure);
        }
    }

    fn give_up(&self, order: Order, reason: Option<String>) {
        self.shared.state.lock().status.searching -= 1;
        order.give_up(reason);
    }

    /// Lends the workers to a lone search, until it is over or others are wanted.
    fn search_lone_one(&mut self) {
        let shared = self.shared.clone();
        let Some(place) = self.place().filter(|place| place.owners.len() == 1) else {
            return;
        };
        if !shared.state.lock().has_one_search(&shared.size) {
            return;
        }
        self.lent = shared.workers.lock().take();
        let Some(workers) = &self.lent else { return };
        let others = self.open.iter().filter(|search| search.is_paused);
        let stops: Vec<_> = others.map(|search| search.order.stop.clone()).collect();
        let OpenSearch {
            order,
            player,
            reported,
            waits,
            ..
        } = &mut self.open[place.index];
        *waits = false;
        player.assign_to(workers);
        let is_over = player.wait_for_workers(&mut || {
            if order.stop.load(Relaxed) {
                player.stop();
            }
            report_if_due(order, player, reported);
            let is_stopped = stops.iter().any(|stop| stop.load(Relaxed));
            !is_stopped && !shared.state.lock().wants(&shared.size, &place)
        });
        self.give_back();
        if is_over {
            self.close(place.index);
        }
    }

    /// Gives the workers back to the pool, once they have left the search.
    fn give_back(&mut self) {
        if let Some(workers) = self.lent.take() {
            self.open.iter().for_each(|search| search.player.recall());
            *self.shared.workers.lock() = Some(workers);
        }
    }

    fn gather(&mut self) {
        let mut place = 0;
        while let Some(search) = self.open.get_mut(place) {
            if search.order.stop.load(Relaxed) {
                search.player.stop();
            } else if search.is_paused {
                place += 1;
                continue;
            }
            match search.player.advance_within(ROUNDS) {
                Some(NextStep::Over) => self.close(place),
                step => {
                    search.waits = step.is_some();
                    report_if_due(&mut search.order, &search.player, &mut search.reported);
                    place += 1;
                }
            }
        }
    }

    fn evaluate(&mut self) -> Result<(), BackendError> {
        let most = self.shared.backend.facts().max_batch.max(1);
        let waiting = self.open.iter_mut().filter(|search| search.waits);
        let mut players: Vec<_> = waiting.map(|search| &mut search.player).collect();
        self.batch.evaluate(&mut players, |slots| {
            slots
                .chunks_mut(most)
                .try_for_each(|batch| self.evaluator.evaluate(batch))
        })
    }

    fn close(&mut self, place: usize) {
        let mut search = self.open.remove(place);
        search.pause(false, &mut self.shared.state.lock());
        let OpenSearch { order, player, .. } = &mut search;
        let is_last = order.plies.len() == 1;
        let played = player.end_move();
        let mut state = self.shared.state.lock();
        // A client may query again at once, and must then count as the only search.
        state.status.searching -= usize::from(is_last);
        state.status.searched += 1;
        state.status.nodes += played
            .as_ref()
            .map_or(0, |played| played.outcome.figures.stats.new_nodes.0);
        drop(state);
        order.listener.hear(self.shared.backend.take_notes());
        let outcome = played.map(|Played { mut outcome, .. }| {
            order.listener.hear(outcome.notes.drain(..));
            outcome.info = player.report();
            outcome
        });
        order.answer(outcome);
        if !is_last {
            self.open.insert(place, search);
            self.begin(place);
        }
    }

    fn fail(&mut self, reason: &str) {
        self.give_back();
        let shared = self.shared.clone();
        let mut state = shared.state.lock();
        self.open
            .iter_mut()
            .for_each(|search| search.pause(false, &mut state));
        state.status.searching -= self.open.len();
        drop(state);
        for OpenSearch { order, .. } in self.open.drain(..) {
            order.give_up(Some(reason.into()));
        }
    }
}

impl OpenSearch {
    /// While it is paused it counts as waiting.
    fn pause(&mut self, is_paused: bool, state: &mut PoolState) {
        if self.is_paused != is_paused {
            let [from, to] = match is_paused {
                true => [&mut state.status.searching, &mut state.status.paused],
                false => [&mut state.status.paused, &mut state.status.searching],
            };
            (*from, *to) = (*from - 1, *to + 1);
            self.is_paused = is_paused;
            self.since = Instant::now();
            self.waits = false;
        }
    }

    /// Whether the order comes before this paused search: by its priority, its end, or the turn of others.
    fn lets_in(&self, order: &Order) -> bool {
        let own = self.order.claim();
        let other = order.claim();
        let is_turn_of_others = other.owner != own.owner && self.since.elapsed() < TURN;
        other.priority > own.priority
            || other.priority == own.priority && (other.ends && !own.ends || is_turn_of_others)
    }

    fn begin(&mut self) -> Result<(), EngineError> {
        let request = GoRequest {
            received: Instant::now(),
            ..self.order.request.clone()
        };
        (self.reported, self.waits) = (request.received, false);
        self.player.begin_search(&self.order.position(), request)?;
        self.order.listener.hear(self.player.take_notes());
        Ok(())
    }
}

fn report_if_due(order: &mut Order, player: &EnginePlayer, reported: &mut Instant) {
    let is_due = order.report_every.is_some_and(|gap| reported.elapsed() >= gap);
    if is_due && let Some(info) = player.report() {
        if order.listener.info(&order.position(), &info).is_break() {
            player.stop();
        }
        *reported = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use crossbeam::channel::{Sender, unbounded};

    use super::*;
    use crate::search::SearchInfo;
    use crate::time::Limit;

    /// Sends an order's number when it is answered, and whether it was searched.
    struct Told(u32, Sender<(u32, bool)>);

    impl Listener for Told {
        fn answer(&mut self, _: &History, outcome: Option<Outcome>) {
            self.1.send((self.0, outcome.is_some())).unwrap();
        }
    }

    /// Sends the visits of an order when it is reported or answered, and stops another one when it is
    /// answered.
    struct Counted(Sender<u32>, Option<Arc<AtomicBool>>);

    impl Listener for Counted {
        fn info(&mut self, _: &History, info: &SearchInfo) -> ControlFlow<()> {
            self.0.send(info.nodes as u32).unwrap();
            ControlFlow::Continue(())
        }
        fn answer(&mut self, _: &History, outcome: Option<Outcome>) {
            self.1.iter().for_each(|other| other.store(true, Relaxed));
            let nodes = outcome.map_or(0, |outcome| outcome.figures.stats.nodes.0);
            self.0.send(nodes as u32).unwrap();
        }
    }

    fn pool(settings: &[(&str, &str)], searches: usize) -> Searcher {
        let mut all = crate::engine::Settings::default();
        for (name, value) in settings {
            all.set(name, value).unwrap();
        }
        Searcher::open(all, |_, _| searches).unwrap()
    }

    fn counted(
        pool: &Searcher,
        owner: u64,
        limit: Limit,
        other: Option<Arc<AtomicBool>>,
    ) -> (Order, crossbeam::channel::Receiver<u32>) {
        let (sender, receiver) = unbounded();
        let listener = Box::new(Counted(sender, other));
        let order = pool.order(Arc::new(History::start()), &[0], GoRequest::new(limit), listener);
        let stop = Arc::default();
        (Order { owner, stop, ..order }, receiver)
    }

    const NODES: u32 = 60_000;

    /// A regression: the workers of a paused search searched on.
    #[test]
    fn a_paused_search_has_no_workers() {
        // On a busy machine much may be searched between a report and the pause.
        assert!((0..5).any(|_| visits_beside_a_short_search() < NODES / 2));
    }

    /// The most visits between two reports of a search that gives way to one of so many nodes.
    fn visits_beside_a_short_search() -> u32 {
        let pool = pool(
            &[("Backend", "random"), ("Threads", "2"), ("RamLimitMb", "64")],
            1,
        );
        let (endless, visits) = counted(&pool, 1, Limit::Infinite, None);
        let every = Some(Duration::from_millis(1));
        let stop = endless.stop.clone();
        pool.submit(vec![Order {
            report_every: every,
            ..endless
        }]);
        visits.recv().unwrap();
        let (short, answered) = counted(&pool, 2, Limit::nodes(u64::from(NODES)), Some(stop));
        pool.submit(vec![short]);
        assert_eq!(answered.recv().unwrap(), NODES);
        let visits: Vec<_> = visits.iter().collect();
        let grown = visits.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
        grown.max().unwrap()
    }

    /// A regression: who asked for more than anybody waits for held all places.
    #[test]
    fn a_search_that_is_nearly_endless_gives_way_after_its_turn() {
        let pool = pool(
            &[("Backend", "random"), ("Threads", "1"), ("RamLimitMb", "64")],
            2,
        );
        let long = || Limit::nodes(u64::from(u32::MAX));
        let (orders, _answers): (Vec<_>, Vec<_>) = (0..4).map(|_| counted(&pool, 1, long(), None)).unzip();
        let stops: Vec<_> = orders.iter().map(|order| order.stop.clone()).collect();
        pool.submit(orders);
        for priority in [0, 5] {
            let (short, answered) = counted(&pool, 2, Limit::nodes(10), None);
            pool.submit(vec![Order { priority, ..short }]);
            assert_eq!(answered.recv_timeout(Duration::from_secs(60)), Ok(10));
        }
        stops.iter().for_each(|stop| stop.store(true, Relaxed));
        pool.remove_stopped();
    }

    /// A regression: on a device with queues, a search was sent to workers who had an endless one.
    #[test]
    fn bursts_beside_an_endless_search_on_a_device_are_answered() {
        let device = "simulated(latency-us=20,per-position-ns=0)";
        let pool = pool(&[("Backend", device), ("Threads", "4"), ("RamLimitMb", "64")], 4);
        let (endless, _reports) = counted(&pool, 1, Limit::Infinite, None);
        let stop = endless.stop.clone();
        pool.submit(vec![endless]);
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..60 {
            let many = random.usize(1..9);
            let order = |_| counted(&pool, random.u64(2..4), Limit::nodes(random.u64(1..30)), None);
            let (orders, answers): (Vec<_>, Vec<_>) = (0..many).map(order).unzip();
            orders.into_iter().for_each(|order| pool.submit(vec![order]));
            for answer in answers {
                assert!(answer.recv_timeout(Duration::from_secs(60)).is_ok());
            }
        }
        stop.store(true, Relaxed);
    }

    struct Orders {
        searcher: Searcher,
        sender: Sender<(u32, bool)>,
    }

    impl Orders {
        fn order(&self, number: u32, owner: u64, priority: i32) -> Order {
            let request = GoRequest::new(Limit::nodes(1));
            let listener = Box::new(Told(number, self.sender.clone()));
            let order = self
                .searcher
                .order(Arc::new(History::start()), &[0], request, listener);
            Order {
                owner,
                priority,
                stop: Arc::default(),
                ..order
            }
        }
    }

    #[test]
    fn a_place_has_so_many_paused_searches_and_workers_only_a_lone_one() {
        let (sender, _) = unbounded();
        let searcher = pool(&[("Backend", "random"), ("Threads", "1")], 1);
        let orders = Orders { searcher, sender };
        let claim = Claim {
            priority: 0,
            owner: 1,
            ends: false,
        };
        let takes = |paused: usize| {
            let place = Place {
                index: 0,
                claim,
                until: Instant::now(),
                owners: vec![1],
                paused: vec![claim; paused],
            };
            place.takes(&orders.order(0, 2, 0), 1)
        };
        assert_eq!([0, 1, 2, 3].map(takes), [true, true, false, false]);
        let mut state = PoolState::default();
        state.status.searching = 1;
        let size = PoolSize {
            threads: 2,
            searches: 4,
            workers: 2,
        };
        assert!(state.has_one_search(&size));
        state.queue.len = 1;
        assert!(!state.has_one_search(&size));
    }

    #[test]
    fn paused_searches_wait_as_those_in_the_queue_do() {
        let searcher = Searcher::random(1);
        searcher.shared.state.lock().status.paused = 2;
        assert_eq!(searcher.status().waiting, 2);
    }

    #[test]
    fn owners_take_turns_and_higher_priorities_come_first() {
        let (sender, receiver) = unbounded();
        let orders = Orders {
            searcher: Searcher::random(1),
            sender,
        };
        let mut queue = Queue::default();
        for (number, owner, priority) in [
            (1, 7, 0),
            (2, 7, 0),
            (3, 7, 0),
            (4, 8, 0),
            (5, 9, -1),
            (6, 8, 5),
            (7, 8, 0),
        ] {
            queue.push(orders.order(number, owner, priority));
        }
        queue.push(orders.order(8, 9, 0));
        // Owner 7 comes first and 9 last, and each has one turn per round.
        let expected = [6, 1, 4, 8, 2, 7, 3, 5];
        for (left, number) in (0..8).rev().zip(expected) {
            queue.pop(|_| true).unwrap().give_up(None);
            assert_eq!((receiver.try_recv().unwrap(), queue.len), ((number, false), left));
        }
        assert!(queue.pop(|_| true).is_none() && queue.levels.is_empty());
    }

    #[test]
    fn stopped_orders_leave_the_queue_and_others_keep_their_places() {
        let (sender, receiver) = unbounded();
        let orders = Orders {
            searcher: Searcher::random(1),
            sender,
        };
        let mut queue = Queue::default();
        for number in 1..=6 {
            let order = orders.order(number, u64::from(number % 2), i32::from(number == 6));
            order.stop.store(number % 3 == 0, Relaxed);
            queue.push(order);
        }
        assert_eq!(queue.remove_stopped().len(), 2);
        assert_eq!(queue.len, 4);
        std::iter::from_fn(|| queue.pop(|_| true)).for_each(|order| order.give_up(None));
        let numbers: Vec<_> = receiver.try_iter().map(|(number, _)| number).collect();
        assert_eq!(numbers, [1, 2, 5, 4]);
    }

    #[test]
    fn a_full_queue_takes_all_orders_of_a_query_or_none() {
        let (sender, receiver) = unbounded();
        let orders = Orders {
            searcher: Searcher::random(1),
            sender,
        };
        let pool = &orders.searcher;
        let blocker = orders.order(0, 1, 9);
        let stop = blocker.stop.clone();
        let endless = GoRequest::new(Limit::Infinite);
        pool.submit(vec![Order {
            request: endless,
            ..blocker
        }]);
        while pool.status().searching == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        let several =
            |numbers: std::ops::Range<u32>| numbers.map(|number| orders.order(number, 1, 0)).collect();
        let taken = pool.submit_within(several(1..3), 3);
        let refused = pool.submit_within(several(3..5), 3);
        let larger = pool.submit_within(several(5..9), 3);
        let last = pool.submit_within(several(9..10), 3);
        let waiting = pool.status().waiting;
        // Before anything may fail: the end of the pool waits for the endless search.
        stop.store(true, Relaxed);
        assert_eq!((taken, last, waiting), (Ok(()), Ok(()), 3));
        assert_eq!(refused, Err(QueueFull { waiting: 2, most: 3 }));
        assert_eq!(
            larger.unwrap_err().to_string(),
            "the queue is full: 2 positions wait, of 3 that may"
        );
        let answered: Vec<_> = receiver.iter().take(4).collect();
        assert_eq!(answered, [(0, true), (1, true), (2, true), (9, true)]);
    }

    #[test]
    fn a_pool_that_ends_answers_what_it_was_given() {
        let (sender, receiver) = unbounded();
        let orders = Orders {
            searcher: Searcher::random(2),
            sender,
        };
        orders
            .searcher
            .submit((0..50).map(|number| orders.order(number, 1, 0)).collect());
        drop(orders);
        let mut numbers: Vec<_> = receiver.iter().map(|(number, _)| number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..50).collect::<Vec<_>>());
    }
}
