//! The search threads and their queue.
//!
//! A thread lets its open searches gather leaves, evaluates all leaves together, and takes further searches
//! between rounds. So batches are large, though each search finds what it would find alone, except for shared
//! cache entries.
//!
//! A search without an end gives its place to waiting ones that end, and after its turn to one of another
//! owner, unless its priority is higher.
//!
//! A lone search cannot fill a device this way. Workers then search it as under UCI, with several batches in
//! flight. On a CPU only a pool for one search at a time does so.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use serde::Serialize;
use thiserror::Error;

use crate::chess::History;
use crate::engine::{EngineError, EnginePlayer, GoRequest, Listener, SearchAnswer, Setup, SharedBatch};
use crate::network::cache::EvalCache;
use crate::network::{Backend, BackendError, Evaluator};
use crate::note::Note;
use crate::search::{NextStep, STACK_BYTES, WorkerPool, WorkerPoolError};

/// Gatherings of one search before its thread turns to the others.
const ROUNDS: u32 = 256;
/// Between two looks whether a client has read its answers.
const ROOM_TICK: Duration = Duration::from_millis(20);
/// The turn of a search without an end.
const TURN: Duration = Duration::from_secs(1);
const PANIC: &str = "the search panicked";

/// Positions of a game to search in turn. Each search reuses the tree below the moves played.
pub struct Order {
    pub game: Arc<History>,
    /// Each is a number of moves played.
    pub plies: VecDeque<usize>,
    /// Limits and root moves of each search, whose time counts from its beginning.
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
    /// Gets an answer per search, without a result if it did not begin or the backend failed, and then a note
    /// says why.
    pub listener: Box<dyn Listener>,
}

impl Order {
    fn ends(&self) -> bool {
        !self.request.limits.infinite
    }

    pub(super) fn position(&self) -> History {
        let mut position = (*self.game).clone();
        position.truncate(
            position
                .len()
                .min(self.plies.front().copied().unwrap_or_default() + 1),
        );
        position
    }

    /// Answers every position of the order without searching it, `reason` as a note.
    fn give_up(mut self, reason: Option<String>) {
        reason
            .map(Note::Error)
            .into_iter()
            .for_each(|note| self.listener.note(note));
        while !self.plies.is_empty() {
            self.answer(SearchAnswer::default());
        }
    }

    fn answer(&mut self, answer: SearchAnswer) {
        self.listener.answer(&self.position(), answer);
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
    pub(super) searched: u64,
    pub(super) nodes: u64,
}

pub(super) struct Shared {
    backend: Arc<dyn Backend>,
    size: PoolSize,
    /// They search a lone search. At most one thread uses them at a time.
    workers: Option<WorkerPool>,
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
            workers,
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
    /// Bytes of answers that may be unread.
    pub answer_bytes: usize,
    /// Ends all searches without a flag of their own.
    pub(super) stop: Arc<AtomicBool>,
    pub(super) shared: Arc<Shared>,
    pub(super) threads: Vec<JoinHandle<()>>,
}

impl Searcher {
    pub(super) fn start_threads(&mut self) -> Result<(), WorkerPoolError> {
        for index in 0..self.size.threads.max(1) {
            let evaluator = self.shared.backend.evaluator()?;
            let (shared, batch) = (self.shared.clone(), SharedBatch::default());
            let thread = SearchThread {
                shared,
                evaluator,
                open: Vec::new(),
                batch,
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
    /// Ends all searches without a flag of their own, and waits for the threads: callers wait for answers
    /// before.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.remove_stopped();
        self.shared.state.lock().is_closed = true;
        self.shared.changed.notify_all();
        // A thread that panicked outside its searches needs no handling.
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

    /// Takes the next order that `is_wanted` and whose listener has room. Within a priority, searches that
    /// end come first.
    fn pop(&mut self, is_wanted: impl Fn(&Order) -> bool) -> Option<Order> {
        let places = self
            .levels
            .iter()
            .flat_map(|(&level, lines)| [(level, lines, true), (level, lines, false)]);
        let found = places.into_iter().find_map(|(level, lines, ends)| {
            let is_next = |order: &Order| order.ends() == ends && is_wanted(order);
            lines.iter().enumerate().find_map(|(place, line)| {
                let has_room = line.orders.front().is_some_and(|order| order.listener.has_room());
                let index = line.orders.iter().position(is_next).filter(|_| has_room)?;
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

    /// Whether an order waits that may take the `place` of an open search.
    fn needs(&self, place: &Place) -> bool {
        let mut orders = self.levels.values().flatten().flat_map(|line| &line.orders);
        orders.any(|order| place.is_for(order) && order.listener.has_room())
    }

    fn remove_stopped(&mut self) -> Vec<Order> {
        let (mut kept, mut removed) = (Queue::default(), Vec::new());
        for line in std::mem::take(&mut self.levels).into_values().flatten() {
            for order in line.orders {
                if order.stop.load(Ordering::Relaxed) {
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
}

struct OpenSearch {
    order: Order,
    player: EnginePlayer,
    reported: Instant,
    waits: bool,
    way: Way,
    /// It has no end, and gives way to others.
    is_paused: bool,
    /// When it was last opened, paused or resumed.
    since: Instant,
}

/// The place of a search without an end, as others see it.
struct Place {
    priority: i32,
    is_turn_over: bool,
    /// Owners who search in the same thread.
    owners: Vec<u64>,
}

impl Place {
    fn is_for(&self, order: &Order) -> bool {
        let has_turn = || self.is_turn_over && !self.owners.contains(&order.owner);
        order.priority >= self.priority && (order.ends() || has_turn())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// No other search was open when it was opened, so workers may search it.
    Alone,
    Workers,
    Steps,
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

    /// Opens this thread's share of searches, and waits if it has none. False when no more will come.
    fn take_orders(&mut self) -> bool {
        let PoolSize {
            threads, searches, ..
        } = self.shared.size;
        let shared = self.shared.clone();
        let mut state = shared.state.lock();
        loop {
            // Shares few orders out, so that no thread is idle.
            let all = state.queue.len + state.status.searching + state.status.paused;
            let wanted = all.min(searches).div_ceil(threads).max(1);
            let paused = self.open.iter().filter(|search| search.is_paused).count();
            let order = if self.open.len() - paused < wanted {
                let resumed = self.open.iter().filter(|search| search.is_paused);
                let most = resumed.map(|search| search.order.priority).max();
                // As the paused search comes before others without an end.
                let comes_first =
                    |order: &Order| most.is_none_or(|most| (order.priority, order.ends()) >= (most, true));
                state.queue.pop(comes_first)
            } else {
                let Some((index, place)) = self.place() else {
                    return true;
                };
                let has_room = |order: &Order| paused < if order.ends() { 2 * wanted } else { wanted };
                let order = state.queue.pop(|order| place.is_for(order) && has_room(order));
                if order.is_none() {
                    let waiting = self
                        .open
                        .iter_mut()
                        .filter(|it| it.is_paused && place.is_for(&it.order));
                    let Some(next) = waiting.min_by_key(|search| search.since) else {
                        return true;
                    };
                    next.pause(false, &mut state);
                }
                self.open[index].pause(true, &mut state);
                let Some(order) = order else { continue };
                Some(order)
            };
            match order {
                Some(order) => {
                    state.status.searching += 1;
                    let is_alone = state.has_one_search(&shared.size) && self.open.is_empty();
                    drop(state);
                    self.open(order, if is_alone { Way::Alone } else { Way::Steps });
                    state = shared.state.lock();
                }
                None if paused > 0 => {
                    let resumed = self.open.iter_mut().filter(|search| search.is_paused);
                    if let Some(search) = resumed.max_by_key(|search| search.order.priority) {
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

    /// The search without an end that gives way first.
    fn place(&self) -> Option<(usize, Place)> {
        let active = || {
            self.open
                .iter()
                .enumerate()
                .filter(|(_, search)| !search.is_paused)
        };
        let endless = active().filter(|(_, search)| !search.order.ends());
        let (index, search) = endless.min_by_key(|(_, search)| (search.order.priority, search.since))?;
        let owners = active().map(|(_, search)| search.order.owner).collect();
        let is_turn_over = search.since.elapsed() >= TURN;
        Some((
            index,
            Place {
                priority: search.order.priority,
                is_turn_over,
                owners,
            },
        ))
    }

    fn open(&mut self, order: Order, way: Way) {
        match EnginePlayer::of_search(order.setup.clone(), order.cache.clone()) {
            Ok(player) => {
                let (reported, since) = (Instant::now(), Instant::now());
                let (waits, is_paused) = (false, false);
                self.open.push(OpenSearch {
                    order,
                    player,
                    reported,
                    waits,
                    way,
                    is_paused,
                    since,
                });
                self.begin(self.open.len() - 1);
            }
            Err(error) => self.give_up(order, Some(error.to_string())),
        }
    }

    fn begin(&mut self, place: usize) {
        let search = &mut self.open[place];
        let is_stopped = search.order.stop.load(Ordering::Relaxed);
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

    /// Lets workers search the thread's only search, if it has been alone from its beginning.
    fn search_lone_one(&mut self) {
        let shared = self.shared.clone();
        let Some(workers) = &shared.workers else { return };
        let is_active = |search: &OpenSearch| !search.is_paused;
        while let Some(place) = self.open.iter().position(is_active)
            && self.open[place].way != Way::Steps
            && !self.open[place + 1..].iter().any(is_active)
        {
            let others = || self.open.iter().filter(|search| search.is_paused);
            let stops: Vec<_> = others().map(|search| search.order.stop.clone()).collect();
            let mut taken = self.place().map(|(_, taken)| Place {
                is_turn_over: true,
                ..taken
            });
            let is_followed = taken
                .as_ref()
                .is_some_and(|it| others().any(|next| it.is_for(&next.order)));
            let OpenSearch {
                order,
                player,
                reported,
                way,
                since,
                ..
            } = &mut self.open[place];
            if std::mem::replace(way, Way::Workers) == Way::Alone {
                player.assign_to(workers);
            }
            let is_over = player.wait_for_workers(&mut || {
                if order.stop.load(Ordering::Relaxed) {
                    player.stop();
                }
                report_if_due(order, player, reported);
                let is_needed = taken.as_mut().is_some_and(|taken| {
                    taken.is_turn_over = since.elapsed() >= TURN;
                    taken.is_turn_over && is_followed || shared.state.lock().queue.needs(taken)
                });
                !is_needed && !stops.iter().any(|stop| stop.load(Ordering::Relaxed))
            });
            if !is_over {
                return;
            }
            let is_last = order.plies.len() == 1;
            self.close(place);
            if let Some(next) = self.open.get_mut(place).filter(|_| !is_last) {
                let is_alone = shared.state.lock().has_one_search(&shared.size);
                next.way = if is_alone { Way::Alone } else { Way::Steps };
            }
        }
    }

    fn gather(&mut self) {
        let mut place = 0;
        while let Some(search) = self.open.get_mut(place) {
            let is_stopped = search.order.stop.load(Ordering::Relaxed);
            if is_stopped {
                search.player.stop();
            }
            if search.way == Way::Workers {
                if is_stopped && search.player.wait_for_workers(&mut || true) {
                    self.close(place);
                } else {
                    place += 1;
                }
                continue;
            }
            if search.is_paused && !is_stopped {
                place += 1;
                continue;
            }
            // A search begun in steps goes on in steps.
            search.way = Way::Steps;
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
        let waiting = self
            .open
            .iter_mut()
            .filter(|search| search.waits && !search.is_paused);
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
        // Update the status before answering: a client may query again at once, and must then count as the
        // only search.
        state.status.searching -= usize::from(is_last);
        state.status.searched += 1;
        state.status.nodes += played
            .as_ref()
            .map_or(0, |played| played.result.summary.new_nodes);
        drop(state);
        self.shared
            .backend
            .take_notes()
            .into_iter()
            .for_each(|note| order.listener.note(note));
        let answer = played.map_or_else(SearchAnswer::default, |played| {
            played
                .notes
                .into_iter()
                .for_each(|note| order.listener.note(note));
            let mut result = played.result;
            result.info = player.report();
            SearchAnswer {
                best: played.best,
                ponder: result.ponder,
                result: Some(result),
            }
        });
        order.answer(answer);
        if !is_last {
            self.open.insert(place, search);
            self.begin(place);
        }
    }

    fn fail(&mut self, reason: &str) {
        let shared = self.shared.clone();
        let mut state = shared.state.lock();
        self.open
            .iter_mut()
            .for_each(|search| search.pause(false, &mut state));
        state.status.searching -= self.open.len();
        drop(state);
        for OpenSearch { order, player, .. } in self.open.drain(..) {
            // Workers may still search it after a panic.
            player.stop();
            order.give_up(Some(reason.into()));
        }
    }
}

impl OpenSearch {
    /// Pauses it or lets it go on. While it is paused it counts as waiting.
    fn pause(&mut self, is_paused: bool, state: &mut PoolState) {
        if self.is_paused != is_paused {
            let [from, to] = match is_paused {
                true => [&mut state.status.searching, &mut state.status.paused],
                false => [&mut state.status.paused, &mut state.status.searching],
            };
            (*from, *to) = (*from - 1, *to + 1);
            (self.is_paused, self.since) = (is_paused, Instant::now());
        }
    }

    fn begin(&mut self) -> Result<(), EngineError> {
        let request = GoRequest {
            received: Instant::now(),
            ..self.order.request.clone()
        };
        (self.reported, self.waits) = (request.received, false);
        self.player.begin_search(&self.order.position(), request)?;
        self.player
            .take_notes()
            .into_iter()
            .for_each(|note| self.order.listener.note(note));
        Ok(())
    }
}

fn report_if_due(order: &mut Order, player: &EnginePlayer, reported: &mut Instant) {
    let is_due = order.report_every.is_some_and(|gap| reported.elapsed() >= gap);
    if is_due && let Some(info) = player.report() {
        order.listener.info(&order.position(), &info);
        *reported = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use crossbeam::channel::{Sender, unbounded};

    use super::*;
    use crate::search::SearchInfo;
    use crate::time::GoLimits;

    /// Sends an order's number when it is answered, and whether it was searched.
    struct Told(u32, Sender<(u32, bool)>);

    impl Listener for Told {
        fn info(&mut self, _: &History, _: &SearchInfo) {}
        fn note(&mut self, _: Note) {}
        fn answer(&mut self, _: &History, answer: SearchAnswer) {
            self.1.send((self.0, answer.result.is_some())).unwrap();
        }
    }

    struct Orders {
        searcher: Searcher,
        sender: Sender<(u32, bool)>,
    }

    impl Orders {
        fn order(&self, number: u32, owner: u64, priority: i32) -> Order {
            let request = GoRequest::new(GoLimits::nodes(1));
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
            order.stop.store(number % 3 == 0, Ordering::Relaxed);
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
        let endless = GoRequest::new(GoLimits::infinite());
        pool.submit(vec![Order {
            request: endless,
            ..blocker
        }]);
        while pool.status().searching == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        let several =
            |numbers: std::ops::Range<u32>| numbers.map(|number| orders.order(number, 1, 0)).collect();
        pool.submit_within(several(1..3), 3).unwrap();
        assert_eq!(
            pool.submit_within(several(3..5), 3),
            Err(QueueFull { waiting: 2, most: 3 })
        );
        assert_eq!(
            pool.submit_within(several(5..9), 3).unwrap_err().to_string(),
            "the queue is full: 2 positions wait, of 3 that may"
        );
        pool.submit_within(several(9..10), 3).unwrap();
        assert_eq!(pool.status().waiting, 3);
        stop.store(true, Ordering::Relaxed);
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
