//! The clients of the server, their queries, and the routes of the answers.
//!
//! A [`Client`] has a thread that reads its lines and one that writes its [`Answers`]. Search threads put
//! answers into the channel between them without waiting. A client that does not read its answers is not
//! read.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, Sender, unbounded};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::json;

use super::answer::{ActionAnswer, Answer, Figures, MoveFigures, ServerStatus};
use super::query::{Action, Command, Id, Query, QueryError};
use zeitnot_engine::VERSION;
use zeitnot_engine::chess::History;
use zeitnot_engine::engine::{EngineError, Listener, Settings, Setup};
use zeitnot_engine::files::{LineError, Lines};
use zeitnot_engine::network::BackendInfo;
use zeitnot_engine::network::cache::EvalCache;
use zeitnot_engine::note::Note;
use zeitnot_engine::options::OptionChoice;
use zeitnot_engine::search::{Outcome, SearchInfo};
use zeitnot_engine::serve::{Order, Searcher, searches_at_once};

/// With as many unread answers a client gets no reports …
const MAX_UNREAD_BEFORE_REPORT: usize = 100;
/// … and its reader, once paused, looks this often whether they were read.
const UNREAD_PAUSE: Duration = Duration::from_millis(5);
/// Lines of a query: more than any position has moves.
const ALL_MOVES: usize = 500;

pub(crate) struct ServerLimits {
    /// Positions searched at once. `None` leaves it to the backend.
    pub(crate) searches: Option<usize>,
    /// Positions that may wait, and unread answers that pause a client's lines.
    pub(crate) queue: usize,
    /// Visits of a query without a limit.
    pub(crate) nodes: u64,
}

/// One backend with its search threads, for any number of clients.
pub(crate) struct Server {
    searcher: Searcher,
    limits: ServerLimits,
    /// Keeps nothing, for searches whose options change evaluations.
    no_cache: Arc<EvalCache>,
    room: Arc<Room>,
    next_number: AtomicU64,
    started: Instant,
}

impl Server {
    /// Only a query's limits end a search, unless its options say otherwise.
    pub(crate) fn new(mut settings: Settings, limits: ServerLimits) -> Result<Server, EngineError> {
        if settings.info.multi_pv <= 1 {
            settings.info.multi_pv = ALL_MOVES;
        }
        let searches = |backend: &BackendInfo, threads| {
            limits
                .searches
                .unwrap_or_else(|| searches_at_once(backend, threads))
        };
        let searcher = Searcher::open(settings, searches)?;
        let room = Arc::new(Room {
            bytes: searcher.answer_bytes,
            clients: AtomicUsize::new(0),
            games: AtomicUsize::new(0),
        });
        Ok(Server {
            searcher,
            limits,
            no_cache: Arc::new(EvalCache::new(0)),
            room,
            next_number: AtomicU64::new(0),
            started: Instant::now(),
        })
    }

    pub(crate) fn setup(&self) -> &Arc<Setup> {
        &self.searcher.setup
    }

    pub(crate) fn notes(&self) -> Vec<Note> {
        self.searcher.setup.told(self.searcher.size.threads)
    }

    /// One end reads a client's lines, the other writes its answers.
    pub(crate) fn connect(self: &Arc<Server>) -> (Client, Answers) {
        let (sender, receiver) = unbounded();
        self.room.clients.fetch_add(1, Ordering::Relaxed);
        let queries = Arc::new(Queries {
            number: self.number(),
            sender,
            unread_bytes: AtomicUsize::new(0),
            room: self.room.clone(),
            is_gone: AtomicBool::new(false),
            open: Mutex::default(),
        });
        let answers = Answers {
            receiver,
            queries: Arc::downgrade(&queries),
            server: self.clone(),
        };
        (
            Client {
                server: self.clone(),
                queries,
            },
            answers,
        )
    }

    pub(crate) fn clients(&self) -> usize {
        self.room.clients.load(Ordering::Relaxed)
    }

    fn number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    fn status(&self) -> ServerStatus {
        ServerStatus {
            clients: self.clients(),
            threads: self.searcher.size.threads,
            pool: self.searcher.status(),
            uptime_ms: self.started.elapsed().as_millis() as u64,
            busy_ms: self
                .setup()
                .backend()
                .busy_time()
                .map(|time| time.as_millis() as u64),
        }
    }
}

/// A client's queries, and the route of their answers.
struct Queries {
    number: u64,
    sender: Sender<Vec<u8>>,
    /// Bytes of answers that the client has not read. Relaxed: a limit that nothing else depends on.
    unread_bytes: AtomicUsize,
    room: Arc<Room>,
    /// Relaxed: who queues a query after [`Queries::stop`] has locked `open` sees it.
    is_gone: AtomicBool,
    open: Mutex<BTreeMap<u64, Arc<OpenQuery>>>,
}

struct OpenQuery {
    id: Id,
    number: u64,
    is_infinite: bool,
    stop: Arc<AtomicBool>,
    left: AtomicUsize,
    _game: HeldGame,
}

/// What clients share of the memory for unread answers, and of that for games.
struct Room {
    /// Most bytes of either.
    bytes: usize,
    clients: AtomicUsize,
    games: AtomicUsize,
}

impl Room {
    /// Counts the bytes of a game until the returned value is dropped.
    fn hold(self: &Arc<Room>, bytes: usize) -> Result<HeldGame, String> {
        let held = self.games.fetch_add(bytes, Ordering::Relaxed);
        let game = HeldGame {
            bytes,
            room: self.clone(),
        };
        if held + bytes <= self.bytes {
            return Ok(game);
        }
        let [held, bytes, most] = [held, bytes, self.bytes].map(|bytes| bytes.div_ceil(1_000_000));
        Err(format!(
            "the queue is full: the games there take {held} MB, this one {bytes} MB, of {most} MB that may"
        ))
    }
}

/// Bytes of a query's game.
struct HeldGame {
    bytes: usize,
    room: Arc<Room>,
}

impl Drop for HeldGame {
    fn drop(&mut self) {
        self.room.games.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Queries {
    /// All clients have equal parts of the room.
    fn has_room(&self) -> bool {
        let part = self.room.bytes / self.room.clients.load(Ordering::Relaxed).max(1);
        self.unread_bytes.load(Ordering::Relaxed) <= part
    }

    fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }

    fn send(&self, answer: &impl Serialize) {
        let Ok(mut line) = serde_json::to_vec(answer) else {
            unreachable!("all keys are strings")
        };
        line.push(b'\n');
        self.unread_bytes.fetch_add(line.len(), Ordering::Relaxed);
        // The client may be gone.
        let _ = self.sender.send(line);
    }

    /// Counts the open queries that `is_meant` chooses, and stops their searches.
    fn stop(&self, is_meant: impl Fn(&OpenQuery) -> bool) -> usize {
        let mut stopped = 0;
        for query in self.open.lock().values().filter(|query| is_meant(query)) {
            query.stop.store(true, Ordering::Relaxed);
            stopped += 1;
        }
        stopped
    }
}

pub(crate) struct Client {
    server: Arc<Server>,
    queries: Arc<Queries>,
}

impl Client {
    /// Infinite searches end with the input, others go on. If the connection breaks, all end.
    pub(crate) fn read(self, input: impl BufRead) -> io::Result<()> {
        let mut lines = Lines::new(input);
        let end = loop {
            while !self.has_room() && !self.queries.is_gone() {
                thread::sleep(UNREAD_PAUSE);
            }
            if self.queries.is_gone() {
                break Ok(());
            }
            match lines.next() {
                Some(Ok((_, line))) if line.trim().is_empty() => {}
                // A web page in a browser must not send queries.
                Some(Ok((_, line))) if line.trim().ends_with(" HTTP/1.1") => break Ok(()),
                Some(Ok((number, line))) => self.follow(number, &line),
                Some(Err(error @ LineError::TooLong(_))) => {
                    self.queries.send(&QueryError::new(None, error));
                }
                Some(Err(LineError::Read(error))) => break Err(error),
                None => break Ok(()),
            }
        };
        let ends_all = end.is_err() || self.queries.is_gone();
        self.queries.stop(|query| query.is_infinite || ends_all);
        self.server.searcher.remove_stopped();
        end
    }

    fn has_room(&self) -> bool {
        self.queries.sender.len() <= self.server.limits.queue && self.queries.has_room()
    }

    fn follow(&self, number: u64, line: &str) {
        let Client { server, queries } = self;
        match Command::parse(line, server.setup(), server.limits.nodes) {
            // Without an identity the line number names the query.
            Err(error) if error.id.is_none() => {
                let reason = format!("line {number}: {}", error.reason);
                queries.send(&QueryError { reason, ..error });
            }
            Err(error) => queries.send(&error),
            Ok(Command::Search(query)) => self.search(*query),
            Ok(Command::Act(action, id)) => self.act(action, id.as_ref()),
        }
    }

    fn act(&self, action: Action, id: Option<&Id>) {
        let server = &self.server;
        match action {
            Action::Cancel | Action::CancelAll => {
                let is_meant = |query: &OpenQuery| action == Action::CancelAll || Some(&query.id) == id;
                let cancelled = self.queries.stop(is_meant);
                server.searcher.remove_stopped();
                self.tell_done(action, id, json!({ "cancelled": cancelled }));
            }
            Action::ClearCache => {
                server.searcher.cache.clear();
                self.tell_done(action, id, ());
            }
            Action::Version => {
                let setup = server.setup();
                let backend = setup.backend().facts().description_without_folder();
                let network_sha256 = setup.network_sha256();
                let version =
                    json!({ "version": VERSION, "backend": backend, "network_sha256": network_sha256 });
                self.tell_done(action, id, version);
            }
            Action::Status => self.tell_done(action, id, server.status()),
        }
    }

    fn tell_done(&self, action: Action, id: Option<&Id>, result: impl Serialize) {
        let action = action.name();
        self.queries.send(&ActionAnswer { id, action, result });
    }

    /// Positions without a legal move are answered at once.
    fn search(&self, query: Query) {
        let Client { server, queries } = self;
        let Query {
            id,
            game,
            plies,
            request,
            setup,
            report_every,
            priority,
            warnings,
        } = query;
        let held = match server.room.hold(game.bytes()) {
            Ok(held) => held,
            Err(full) => return queries.send(&QueryError::new(Some(id), full)),
        };
        let open = Arc::new(OpenQuery {
            id,
            number: server.number(),
            is_infinite: request.limit.is_infinite(),
            stop: Arc::default(),
            left: AtomicUsize::new(plies.len()),
            _game: held,
        });
        queries.open.lock().insert(open.number, open.clone());
        let cache = if setup.shares_evaluations(server.setup()) {
            &server.searcher.cache
        } else {
            &server.no_cache
        };
        let mut orders = Vec::new();
        let mut over = Vec::new();
        for ply in plies {
            let reply = Reply {
                queries: queries.clone(),
                query: open.clone(),
                ply,
                most_moves: setup.settings().info.multi_pv,
                warnings: warnings.clone(),
            };
            if game.position(ply).legal_moves().is_empty() {
                over.push(reply);
                continue;
            }
            orders.push(Order {
                setup: setup.clone(),
                cache: cache.clone(),
                report_every,
                priority,
                owner: queries.number,
                stop: open.stop.clone(),
                ..server
                    .searcher
                    .order(game.clone(), &[ply], request.clone(), Box::new(reply))
            });
        }
        match server.searcher.submit_within(orders, server.limits.queue) {
            Ok(()) => {
                for reply in over {
                    reply.game_over(&game);
                }
            }
            Err(error) => {
                queries.open.lock().remove(&open.number);
                queries.send(&QueryError::new(Some(open.id.clone()), error));
            }
        }
    }
}

pub(crate) struct Answers {
    receiver: Receiver<Vec<u8>>,
    /// Must not keep the channel alive.
    queries: Weak<Queries>,
    server: Arc<Server>,
}

impl Answers {
    /// Until all is answered and reading has ended. If writing fails, the client's searches end.
    pub(crate) fn write(&self, output: &mut impl Write) -> io::Result<()> {
        let written = self.write_lines(output);
        if written.is_err()
            && let Some(queries) = self.queries.upgrade()
        {
            queries.is_gone.store(true, Ordering::Relaxed);
            queries.stop(|_| true);
            self.server.searcher.remove_stopped();
        }
        written
    }

    fn write_lines(&self, output: &mut impl Write) -> io::Result<()> {
        for line in &self.receiver {
            output.write_all(&line)?;
            if let Some(queries) = self.queries.upgrade() {
                queries.unread_bytes.fetch_sub(line.len(), Ordering::Relaxed);
            }
            if self.receiver.is_empty() {
                output.flush()?;
            }
        }
        Ok(())
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.server.room.clients.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Reply {
    queries: Arc<Queries>,
    query: Arc<OpenQuery>,
    ply: usize,
    most_moves: usize,
    warnings: Vec<String>,
}

impl Reply {
    fn answer_of<'a>(&'a self, root: &History, info: Option<&SearchInfo>) -> Answer<'a> {
        let all = |info| MoveFigures::all(root, info, self.most_moves);
        let best = info.and_then(|info| info.lines.first()?.moves.first());
        Answer {
            id: &self.query.id,
            ply: self.ply,
            turn: root.current().turn().fold_wb("white", "black"),
            is_final: true,
            reason: None,
            best: best.map(|&mv| root.format_move(mv)),
            figures: info.map(Figures::of),
            moves: info.map(all).unwrap_or_default(),
            warnings: &self.warnings,
        }
    }

    fn game_over(&self, game: &History) {
        let mut root = game.clone();
        root.truncate(self.ply + 1);
        let reason = if root.current().is_check() {
            "checkmate"
        } else {
            "stalemate"
        };
        self.finish(&Answer {
            reason: Some(reason.into()),
            ..self.answer_of(&root, None)
        });
    }

    fn finish(&self, answer: &impl Serialize) {
        // Update the status before answering: a client may query again at once.
        let Reply { queries, query, .. } = self;
        if query.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            queries.open.lock().remove(&query.number);
        }
        queries.send(answer);
    }
}

impl Listener for Reply {
    fn has_room(&self) -> bool {
        self.queries.has_room()
    }

    fn info(&mut self, root: &History, info: &SearchInfo) -> ControlFlow<()> {
        if self.queries.sender.len() < MAX_UNREAD_BEFORE_REPORT && self.has_room() {
            self.queries.send(&Answer {
                is_final: false,
                ..self.answer_of(root, Some(info))
            });
        }
        ControlFlow::Continue(())
    }

    fn note(&mut self, note: Note) {
        self.warnings.push(note.to_string());
    }

    fn answer(&mut self, root: &History, outcome: Option<Outcome>) {
        let is_cancelled = self.query.stop.load(Ordering::Relaxed);
        let failure = match &outcome {
            Some(outcome) => outcome.failure.clone(),
            None => (!is_cancelled).then(|| self.warnings.join("; ")),
        };
        if let Some(reason) = failure {
            let error = QueryError::new(Some(self.query.id.clone()), reason);
            return self.finish(&QueryError {
                ply: Some(self.ply),
                ..error
            });
        }
        let reason = match &outcome {
            Some(outcome) if !is_cancelled => outcome.reason.to_string(),
            _ => "cancelled".into(),
        };
        let best = outcome.as_ref().and_then(|outcome| outcome.best);
        let info = outcome.as_ref().and_then(|outcome| outcome.info.as_ref());
        self.finish(&Answer {
            reason: Some(reason),
            best: best.map(|mv| root.format_move(mv)),
            ..self.answer_of(root, info)
        });
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use serde_json::Value;

    use super::*;

    fn server(queue: usize) -> Arc<Server> {
        let mut settings = Settings::default();
        for (name, value) in [("Backend", "random"), ("Threads", "1"), ("RamLimitMb", "64")] {
            settings.set(name, value).unwrap();
        }
        Arc::new(
            Server::new(
                settings,
                ServerLimits {
                    searches: Some(1),
                    queue,
                    nodes: 10,
                },
            )
            .unwrap(),
        )
    }

    fn answers_to(server: &Arc<Server>, input: &[u8]) -> Vec<Value> {
        let (client, answers) = server.connect();
        let mut output = Vec::new();
        thread::scope(|scope| {
            scope.spawn(|| client.read(input).unwrap());
            answers.write(&mut output).unwrap();
        });
        String::from_utf8(output)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn wait_until(is_so: impl Fn() -> bool) {
        let start = Instant::now();
        while !is_so() {
            assert!(start.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn clients_have_equal_parts_of_the_room() {
        let server = server(10);
        let (client, _answers) = server.connect();
        let unread = 2 * server.room.bytes / 3;
        client.queries.unread_bytes.store(unread, Ordering::Relaxed);
        assert!(client.queries.has_room());
        let _other = server.connect();
        assert!(!client.queries.has_room());
    }

    #[test]
    fn an_action_needs_no_id_and_null_is_none() {
        for input in [
            &b"{\"action\":\"status\"}"[..],
            b"{\"id\":null,\"action\":\"status\"}",
        ] {
            let answers = answers_to(&server(1), input);
            assert_eq!(
                (answers.len(), &answers[0]["waiting"]),
                (1, &0.into()),
                "{answers:?}"
            );
        }
    }

    /// A regression: the prior was called the policy, and moves without a visit had the value of the root.
    #[test]
    fn moves_have_policy_and_prior_and_without_a_visit_no_value() {
        let input = br#"{"id":1,"nodes":3}
            {"id":2,"nodes":3,"options":{"PolicyTemperature":1}}
            {"id":3,"nodes":9,"fen":"6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1"}"#;
        let mut answers = answers_to(&server(10), input);
        answers.sort_by_key(|answer| answer["id"].as_u64());
        let number = |of: &Value| of.as_f64().unwrap();
        let column = |answer: &Value, key: &str| -> Vec<(String, f64)> {
            let moves = answer["moves"].as_array().unwrap();
            let mut column: Vec<_> = moves
                .iter()
                .map(|of| (of["move"].to_string(), number(&of[key])))
                .collect();
            column.sort_by(|a, b| a.0.cmp(&b.0));
            column
        };
        let is_close = |a: &[(String, f64)], b: &[(String, f64)]| {
            a.iter().zip(b).all(|((_, a), (_, b))| (a - b).abs() < 2e-3)
        };
        let plain = column(&answers[1], "prior");
        assert!(is_close(&plain, &column(&answers[1], "policy")));
        assert!(is_close(&plain, &column(&answers[0], "policy")));
        assert!(!is_close(&plain, &column(&answers[0], "prior")));
        for answer in &answers {
            let moves = answer["moves"].as_array().unwrap();
            let (visited, others): (Vec<_>, Vec<_>) =
                moves.iter().partition(|of| of["visits"].as_u64() != Some(0));
            assert!(
                !visited.is_empty() && visited.iter().all(|of| of["q"].is_number()),
                "{answer}"
            );
            for key in ["q", "wdl", "centipawns", "plies_left", "mate"] {
                assert!(others.iter().all(|of| of[key].is_null()), "{key}: {answer}");
            }
            let sum: f64 = moves.iter().map(|of| number(&of["policy"])).sum();
            assert!((sum - 1.0).abs() < 1e-3, "{sum}: {answer}");
        }
        // A mate at once leaves no move out.
        assert_eq!(answers[2]["mate"], 1);
        assert_eq!(answers[2]["moves"].as_array().unwrap().len(), 20);
    }

    #[test]
    fn lines_that_cannot_be_followed_cost_nothing_but_themselves() {
        let long = format!(r#"{{"id":1,"fen":"{}"}}"#, "x".repeat(5_000_000));
        let input = [
            b"\r\n  \n{\n".to_vec(),
            long.into_bytes(),
            b"\n{\"id\":\"a\",\"nodes\":0}\n\xff\xfe{}\n{\"id\":2,\"nodes\":1}".to_vec(),
        ]
        .concat();
        let answers = answers_to(&server(10), &input);
        let of = |index: usize, key: &str| answers[index][key].clone();
        assert_eq!(answers.len(), 5, "{answers:#?}");
        assert!(
            of(0, "error")
                .as_str()
                .unwrap()
                .starts_with("line 3: expected a JSON object"),
            "{answers:#?}"
        );
        assert!(
            of(1, "error").as_str().unwrap().contains("longer than"),
            "{answers:#?}"
        );
        assert_eq!((of(2, "id"), of(2, "field")), (json!("a"), json!("nodes")));
        assert_eq!(of(3, "id"), Value::Null);
        // The last line needs no end.
        assert_eq!((of(4, "id"), of(4, "final")), (json!(2), json!(true)));
    }

    #[test]
    fn a_game_that_is_over_is_answered_without_a_search() {
        let line = br#"{"id":1,"moves":["f3","e5","g4","Qh4"],"plies":"all"}"#;
        let answers = answers_to(&server(10), line);
        let last = answers.iter().find(|answer| answer["ply"] == 4).unwrap();
        assert_eq!(
            (&last["reason"], &last["best"]),
            (&json!("checkmate"), &Value::Null),
            "{last}"
        );
        assert_eq!(answers.len(), 5);
        // A stalemate, in a query of its own.
        let line = br#"{"id":1,"fen":"7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"}"#;
        assert_eq!(answers_to(&server(0), line)[0]["reason"], "stalemate");
    }

    struct Counted<'a> {
        left: usize,
        taken: &'a AtomicUsize,
    }

    impl Read for Counted<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            const LINE: &[u8] = b"{\"id\":1,\"action\":\"version\"}\n";
            if self.left == 0 {
                return Ok(0);
            }
            self.left -= 1;
            self.taken.fetch_add(1, Ordering::Relaxed);
            buffer[..LINE.len()].copy_from_slice(LINE);
            Ok(LINE.len())
        }
    }

    #[test]
    fn who_does_not_read_answers_is_not_read_either_and_loses_none() {
        const LINES: usize = 1000;
        let (server, taken) = (server(5), AtomicUsize::new(0));
        let (client, answers) = server.connect();
        thread::scope(|scope| {
            let input = BufReader::with_capacity(
                64,
                Counted {
                    left: LINES,
                    taken: &taken,
                },
            );
            let reader = scope.spawn(|| client.read(input));
            wait_until(|| answers.receiver.len() > 5);
            thread::sleep(10 * UNREAD_PAUSE);
            assert_eq!((answers.receiver.len(), taken.load(Ordering::Relaxed)), (6, 6));
            let mut output = Vec::new();
            answers.write(&mut output).unwrap();
            reader.join().unwrap().unwrap();
            assert_eq!(output.split(|&byte| byte == b'\n').count(), LINES + 1);
        });
        assert_eq!(server.clients(), 1);
        drop(answers);
        assert_eq!(server.clients(), 0);
    }

    struct Broken<'a>(&'a [u8]);

    impl Read for Broken<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::ErrorKind::ConnectionReset.into()),
                count => Ok(count),
            }
        }
    }

    const ENDLESS: &[u8] =
        b"{\"id\":1,\"infinite\":true}\n{\"id\":2,\"nodes\":4000000000}\n{\"id\":3,\"nodes\":5}\n";

    /// A regression: they were counted, so that one line of a megabyte made gigabytes of them.
    #[test]
    fn answers_that_nobody_reads_are_bounded_by_bytes() {
        let server = server(10_000);
        let (silent, unread) = server.connect();
        let queries = silent.queries.clone();
        let moves: Vec<_> = ["g1f3", "g8f6", "f3g1", "f6g8"]
            .into_iter()
            .cycle()
            .take(800)
            .collect();
        let query = json!({"id": "i".repeat(198), "moves": moves, "plies": "all", "nodes": 1}).to_string();
        let input = format!("{query}\n").repeat(2);
        thread::scope(|scope| {
            let reader = scope.spawn(move || silent.read(input.as_bytes()));
            wait_until(|| !queries.has_room());
            // Another client is answered meanwhile.
            assert_eq!(answers_to(&server, b"{\"id\":1,\"nodes\":1}")[0]["visits"], 1);
            let bytes = queries.unread_bytes.load(Ordering::Relaxed);
            assert!(
                bytes > server.room.bytes / 3 && bytes < server.room.bytes + 100_000,
                "{bytes}"
            );
            let mut output = Vec::new();
            drop(queries);
            unread.write(&mut output).unwrap();
            reader.join().unwrap().unwrap();
            assert_eq!(output.split(|&byte| byte == b'\n').count(), 2 * 801 + 1);
        });
    }

    /// A regression: only their number was bounded, and each may take megabytes.
    #[test]
    fn games_that_wait_are_bounded_by_bytes() {
        let server = server(10_000);
        let held = server.room.hold(server.room.bytes - 1000).unwrap();
        let line = br#"{"id":1,"moves":["e4","e5","Nf3","Nc6","Bb5","a6","Ba4","Nf6"],"nodes":1}"#;
        let refused = answers_to(&server, line)[0]["error"].to_string();
        assert!(
            refused.contains("the queue is full: the games there take"),
            "{refused}"
        );
        drop(held);
        assert_eq!(answers_to(&server, line)[0]["visits"], 1);
        // A search gives its room back after its answer.
        wait_until(|| server.room.games.load(Ordering::Relaxed) == 0);
    }

    #[test]
    fn searches_of_a_client_that_cannot_be_read_end() {
        let (server, mut output) = (server(10), Vec::new());
        let (client, answers) = server.connect();
        assert!(client.read(BufReader::new(Broken(ENDLESS))).is_err());
        answers.write(&mut output).unwrap();
        let output = String::from_utf8(output).unwrap();
        assert_eq!(output.matches("\"cancelled\"").count(), 3, "{output}");
        wait_until(|| server.status().pool.searching == 0);
    }

    #[test]
    fn the_end_of_the_input_ends_endless_searches_only() {
        let input = b"{\"id\":1,\"infinite\":true}\n{\"id\":3,\"nodes\":50}\n";
        let answers = answers_to(&server(10), input);
        let reason = |id: u32| &answers.iter().find(|answer| answer["id"] == id).unwrap()["reason"];
        assert_eq!(reason(1), "cancelled");
        assert_ne!(reason(3), "cancelled");
    }

    struct Gone(usize);

    impl Write for Gone {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(1).ok_or(io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A regression: the reader waited for ever for unread answers.
    #[test]
    fn who_cannot_be_written_to_is_not_read_any_more_whatever_is_unread() {
        let (server, taken) = (server(5), AtomicUsize::new(0));
        let (client, answers) = server.connect();
        thread::scope(|scope| {
            let input = BufReader::with_capacity(
                64,
                Counted {
                    left: 1000,
                    taken: &taken,
                },
            );
            let reader = scope.spawn(|| client.read(input));
            wait_until(|| answers.receiver.len() > 5);
            assert!(answers.write(&mut Gone(0)).is_err());
            reader.join().unwrap().unwrap();
        });
        assert!(taken.load(Ordering::Relaxed) < 20, "{taken:?}");
    }

    #[test]
    fn searches_of_a_client_that_cannot_be_written_to_end_while_its_input_is_open() {
        let server = server(10);
        let (client, answers) = server.connect();
        let (input, mut sender) = io::pipe().unwrap();
        thread::scope(|scope| {
            let reader = scope.spawn(|| client.read(BufReader::new(input)));
            sender.write_all(ENDLESS).unwrap();
            wait_until(|| server.status().pool.searching == 1 && server.status().pool.waiting == 2);
            sender
                .write_all(b"{\"id\":4,\"action\":\"version\"}\n{\"id\":5,\"action\":\"version\"}\n")
                .unwrap();
            assert!(answers.write(&mut Gone(1)).is_err());
            // One that was paused ends after the one that had its place.
            wait_until(|| {
                let pool = server.status().pool;
                pool.searching + pool.waiting == 0
            });
            drop(sender);
            reader.join().unwrap().unwrap();
        });
    }
}
