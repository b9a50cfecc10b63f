//! The session's loop: reads commands and drives the engine.

use std::io::{BufRead, Write};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crossbeam::channel::{RecvTimeoutError, TryRecvError};
use itertools::Itertools;

use super::aside::{RECEIVED, REMARK};
use super::command::{GoCommand, UciCommand};
use super::format;
use super::input::{Input, Received};
use super::output::UciOutput;
use zeitnot_engine::VERSION;
use zeitnot_engine::chess::{File, History, Move, PerftReport, Rank, Square, Terminal};
use zeitnot_engine::engine::{
    CLEAR_TREE, Engine, EngineError, GoRequest, InfoOptions, Listener, Settings, TimeReport,
};
use zeitnot_engine::note::Note;
use zeitnot_engine::options::{OptionError, Visibility, both_names, ignored_option};
use zeitnot_engine::search::{Outcome, SearchInfo};
use zeitnot_engine::time::{DEFAULT_MANAGER, GoTimes, Millis, MoveStart};

/// Between two checks for the search's end, after the end of the input.
const FINISHING_TICK: Duration = Duration::from_millis(2);

/// Between two looks whether the output still has a reader.
const READER_TICK: Duration = Duration::from_millis(250);

/// Paths that `go perft` counts for piped commands, after the end of the input.
const MOST_UNATTENDED: u64 = if cfg!(test) { 200_000 } else { 200_000_000 };

/// Speaks UCI with `audience` until `quit` or the end of the input, whatever fails meanwhile.
///
/// At the end of the input a search that ends by itself may finish, so that commands can be piped in, unless
/// the reader of the output has gone.
///
/// Errors go to the GUI as `info string ERROR: …`, and to stderr. An impossible `go` gets a `bestmove`
/// without a move. Without a reader of the output the session ends.
///
/// Fails if an option's text in `settings` is invalid, and at a new search or game if a device is lost: a
/// host that starts the engine anew loses less than one that plays on with it.
pub fn run(
    settings: Settings,
    audience: Audience,
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), EngineError> {
    let output = UciOutput::new(output, &settings.info.log_file);
    let spoken = speak(settings, audience, input, output.clone());
    output.settle();
    spoken
}

fn speak(
    settings: Settings,
    audience: Audience,
    input: impl BufRead + Send + 'static,
    output: UciOutput,
) -> Result<(), EngineError> {
    let is_person = audience.is_person;
    let input = Input::read(input, &output);
    let mut session = Session::new(settings, audience, input, output)?;
    if is_person {
        let name = session.name();
        session.output.line(format!(
            "{name}, a UCI chess engine. Enter help for a list of commands"
        ));
        let notes = session.prepare();
        session.tell(notes);
    }
    for mistake in &session.audience.mistakes {
        session.output.error(mistake);
    }
    session.tell_of_slowmover();
    loop {
        let Received { line, at } = match session.input.next(READER_TICK) {
            Ok(received) => received,
            Err(RecvTimeoutError::Timeout) if session.output.is_broken() => return Ok(()),
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let text = match line {
            Ok(text) => text,
            Err(error) => {
                session.output.note(format!("{error}, ignored"));
                continue;
            }
        };
        session.output.log(RECEIVED, text.trim_end());
        match UciCommand::parse(&text) {
            Ok(UciCommand::Quit) => return Ok(()),
            Ok(command) => session
                .obey(command, at)
                .inspect_err(|error| session.output.line(format!("info string ERROR: {error}")))?,
            Err(error) if is_person => {
                session
                    .output
                    .note(format!("{error}. Enter help for a list of commands"));
            }
            Err(error) => session.output.note(error),
        }
    }
    if !session.engine.still_waits_for_stop() {
        session.finish();
    }
    Ok(())
}

struct Session {
    command_line: Settings,
    audience: Audience,
    /// Names under which options with two names were changed, at most one each.
    changed_under: Vec<&'static str>,
    engine: Engine,
    input: Input,
    output: UciOutput,
    /// The origin of times.
    began: Instant,
    move_start: MoveStart,
}

impl Session {
    fn new(
        settings: Settings,
        audience: Audience,
        input: Input,
        output: UciOutput,
    ) -> Result<Session, EngineError> {
        Ok(Session {
            command_line: settings.clone(),
            audience,
            changed_under: Vec::new(),
            engine: Engine::new(settings)?,
            input,
            output,
            began: Instant::now(),
            move_start: MoveStart::default(),
        })
    }

    fn tell(&self, notes: impl IntoIterator<Item = Note>) {
        for note in notes {
            self.output.note(note);
        }
    }

    /// Unless the reader of the output has gone.
    fn finish(&mut self) {
        while self.engine.is_searching() && !self.output.is_broken() {
            std::thread::sleep(FINISHING_TICK);
        }
    }

    /// One that only `stop` ends would wait for ever.
    fn wait(&mut self) {
        if self.engine.still_waits_for_stop() {
            return self.output.note("wait: only stop ends this search, ignored");
        }
        self.finish();
    }

    /// `at` is when the command came, which may have waited for earlier ones. Fails if the device is lost.
    fn obey(&mut self, command: UciCommand, at: Instant) -> Result<(), EngineError> {
        match command {
            UciCommand::Uci => self.introduce(),
            UciCommand::IsReady => self.get_ready(),
            UciCommand::NewGame => {
                self.engine.check_device()?;
                self.engine.new_game();
            }
            UciCommand::SetOption { name, value } => self.set_option(&name, &value),
            UciCommand::Position(text) => {
                self.move_start.position_read(self.since_start(Instant::now()));
                match self.engine.set_position(&text) {
                    Ok(left_out) => {
                        for what in left_out {
                            self.output.note(format!("position: {what}. It is ignored"));
                        }
                    }
                    Err(error) => self.output.error(&error),
                }
            }
            UciCommand::Go(go) => return self.go(&go, at),
            UciCommand::Stop => self.engine.stop(),
            UciCommand::PonderHit => drop(self.engine.ponder_hit(Instant::now())),
            UciCommand::Wait => self.wait(),
            UciCommand::Show => self.show(),
            UciCommand::Eval => self.evaluate(),
            UciCommand::Perft(depth) => self.count_paths(depth),
            UciCommand::Help => self.output.line(HELP.trim_end()),
            UciCommand::Quit | UciCommand::Nothing => {}
        }
        Ok(())
    }

    /// Or reports the replacement of one that only Lc0 has.
    fn set_option(&mut self, name: &str, value: &str) {
        if let Some(option) = ignored_option(name) {
            return self
                .output
                .note(format!("option {}: {}", option.name, option.help));
        }
        if CLEAR_TREE.iter().any(|button| button.is_named(name)) {
            return self.engine.clear_tree();
        }
        if let Some(other) = self.changed_under_other_name(name, value) {
            let text = format!("option {name}: its default changes nothing, because {other} is set");
            return self.output.note(text);
        }
        match self.engine.set_option(name, value) {
            // Hosts offer other engines' options to all. UCI wants those ignored.
            Err(EngineError::Option(error @ OptionError::Unknown { .. })) => {
                self.output.note(format!("{error}, ignored"));
            }
            Err(error) => self.output.error(format_args!("{error}. The old value stays")),
            Ok(()) => match Settings::spec(name).map(|spec| spec.name) {
                Ok("LogFile") => self.output.log_to(&self.engine.settings().info.log_file),
                Ok("Slowmover") => self.tell_of_slowmover(),
                _ => {}
            },
        }
    }

    fn tell_of_slowmover(&self) {
        let time = &self.engine.settings().time;
        if time.slowmover != 1.0 && time.time_manager == DEFAULT_MANAGER {
            self.output
                .note("Slowmover chooses the time manager legacy, as none is named");
        }
    }

    /// If `value` is only the default of the option's other name: GUIs send both.
    fn changed_under_other_name(&mut self, name: &str, value: &str) -> Option<&'static str> {
        let [name, other] = both_names(name)?;
        let mut asked = self.command_line.clone();
        asked.set(name, value).ok()?;
        let is_default = asked == self.command_line;
        if is_default && self.changed_under.contains(&other) {
            return Some(other);
        }
        self.changed_under.retain(|known| ![name, other].contains(known));
        if !is_default {
            self.changed_under.push(name);
        }
        None
    }

    fn name(&self) -> String {
        match self.engine.settings().info.engine_name.as_str() {
            "" => format!("Zeitnot {VERSION}"),
            name => name.into(),
        }
    }

    fn introduce(&self) {
        self.output.lines([
            format!("id name {}", self.name()),
            "id author the Zeitnot authors".into(),
        ]);
        self.output
            .lines(self.command_line.uci_lines(self.audience.options));
        self.output.line("uciok");
    }

    fn show(&self) {
        match self.engine.accepted_position() {
            Ok(game) => self.output.line(board(game)),
            Err(error) => self.output.error(&error),
        }
    }

    fn is_idle_for(&self, command: &str) -> bool {
        let is_searching = self.engine.is_searching();
        if is_searching {
            self.output.note(format!(
                "{command}: ignored while a search is running. Send stop to end it"
            ));
        }
        !is_searching
    }

    fn evaluate(&mut self) {
        if !self.is_idle_for("eval") {
            return;
        }
        let notes = self.prepare();
        self.tell(notes);
        match self.engine.evaluate() {
            Ok(evaluation) => {
                let text = evaluation.with_best_moves(BEST_MOVES).to_string();
                self.output.line(format!(
                    "from the point of view of the side to move:\n{}",
                    text.trim_end()
                ));
            }
            // It has been told above that there is no network.
            Err(_) if self.engine.backend().is_none() => {}
            Err(error) => self.output.error(&error),
        }
    }

    fn count_paths(&mut self, depth: u32) {
        if !self.is_idle_for("go perft") {
            return;
        }
        let game = match self.engine.accepted_position() {
            Ok(game) => game.clone(),
            Err(error) => return self.output.error(&error),
        };
        let goes_on = |counted| self.goes_on_counting(counted);
        match PerftReport::count_while(game.current(), depth, game.variant(), goes_on) {
            // The empty line is Stockfish's, for wrappers that read it.
            Some(report) => self.output.lines([report.to_string().trim_end(), ""]),
            None => self.output.note("go perft: the count was stopped"),
        }
    }

    /// Hears what ends a count, and `isready`. All else is obeyed after it.
    fn goes_on_counting(&mut self, counted: u64) -> bool {
        loop {
            match self.input.look_ahead() {
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) if counted > MOST_UNATTENDED => return false,
                Err(TryRecvError::Disconnected) => break,
                Ok(Received { line: Ok(text), .. }) if text.trim_ascii() == "isready" => {
                    self.output.log(RECEIVED, text.trim_end());
                    self.get_ready();
                }
                Ok(received) => self.input.put_off(received),
            }
        }
        !self.input.has_put_off_an_end()
    }

    /// Answers `isready` after loading, unless a search is running.
    fn get_ready(&mut self) {
        if !self.engine.is_searching() {
            let mut notes = self.prepare();
            notes.extend(self.engine.open_tablebase());
            // Hosts take each line at the start for a warning.
            let (one_line, others): (Vec<_>, Vec<_>) = notes
                .into_iter()
                .partition(|note| matches!(note, Note::Info(text) if !text.contains('\n')));
            if !one_line.is_empty() {
                self.output.note(Note::join(&one_line));
            }
            self.tell(others);
        }
        self.output.line("readyok");
        self.move_start.readyok_sent();
    }

    /// What has just come into force. Tells why there is none.
    fn prepare(&mut self) -> Vec<Note> {
        match self.engine.prepare() {
            Ok(Some(in_force)) => {
                let mut notes = vec![in_force.into()];
                notes.extend(self.engine.take_notes());
                notes
            }
            Ok(None) => Vec::new(),
            Err(error) => {
                self.output.error(self.engine.describe_load_error(&error));
                Vec::new()
            }
        }
    }

    fn since_start(&self, time: Instant) -> Millis {
        time.saturating_duration_since(self.began).into()
    }

    fn go(&mut self, go: &GoCommand, at: Instant) -> Result<(), EngineError> {
        for error in &go.errors {
            self.output.note(error.as_str());
        }
        let limit = go.limit_for(self.engine.position().current().turn());
        let is_strict = self.engine.settings().info.strict_timing;
        let [came, now] = [at, Instant::now()].map(|time| self.since_start(time));
        let start = self.move_start.go_read(GoTimes { came, now }, limit, is_strict);
        let received = self.began + start.to_duration().unwrap_or_default();
        let root_moves = self.root_moves(self.engine.position(), &go.search_moves);
        let request = GoRequest {
            root_moves,
            received,
            ..GoRequest::new(limit)
        };
        let listener = UciListener {
            output: self.output.clone(),
            options: self.engine.settings().info.clone(),
        };
        match self.engine.go(request, Box::new(listener)) {
            Err(lost @ EngineError::Lost(_)) => Err(lost),
            // The listener has told another error.
            _ => Ok(()),
        }
    }

    fn root_moves(&self, position: &History, texts: &[String]) -> Vec<Move> {
        let tell = |error| self.output.note(format!("go searchmoves: {error}, ignored"));
        texts
            .iter()
            .filter_map(|text| position.parse_move(text).map_err(tell).ok())
            .collect()
    }
}

struct UciListener {
    output: UciOutput,
    options: InfoOptions,
}

impl Listener for UciListener {
    fn info(&mut self, root: &History, info: &SearchInfo) -> ControlFlow<()> {
        self.output.lines(format::info(root, info, &self.options));
        let stats = info.move_stats.as_ref();
        let stats = stats.map_or(Vec::new(), |stats| format::stats(root, stats));
        if self.options.verbose_move_stats {
            self.output.note(stats.join("\n"));
        } else {
            for line in stats {
                self.output.log(REMARK, &line);
            }
        }
        ControlFlow::Continue(())
    }

    fn note(&mut self, note: Note) {
        self.output.note(note);
    }

    fn game_is_over(&mut self, is_mate: bool) {
        self.output.line(if is_mate {
            "info depth 0 score mate 0"
        } else {
            "info depth 0 score cp 0"
        });
    }

    /// To the GUI with `VerboseTime`, to a log in any case.
    fn time_report(&mut self, report: &TimeReport) {
        if report.end.is_some() {
            self.device_report(&format!("time {report}"));
        }
    }

    fn device_report(&mut self, text: &str) {
        if self.options.verbose_time {
            self.output.note(text);
        } else {
            self.output.log(REMARK, text);
        }
    }

    fn answer(&mut self, root: &History, outcome: Option<Outcome>) {
        let (best, ponder) = outcome.map_or((None, None), |outcome| (outcome.best, outcome.ponder));
        self.output.line(format::best_move(root, best, ponder));
    }
}

#[derive(Clone, Debug, Default)]
pub struct Audience {
    /// A person is greeted. A GUI gets only what it asks for.
    pub is_person: bool,
    pub options: Visibility,
    /// Mistakes of the command line, reported first.
    pub mistakes: Vec<String>,
}

const BEST_MOVES: usize = 10;

const HELP: &str = include_str!("help.txt");

const BETWEEN_RANKS: &str = " +---+---+---+---+---+---+---+---+\n";

/// The answer to `d`. The first lines are Stockfish's, which scripts read.
fn board(game: &History) -> String {
    let position = game.current();
    let mut text = format!("\n{BETWEEN_RANKS}");
    for rank in Rank::ALL.into_iter().rev() {
        for file in File::ALL {
            let piece = position.board().piece_at(Square::from_coords(file, rank));
            text += &format!(" | {}", piece.map_or(' ', |piece| piece.char()));
        }
        text += &format!(" | {rank}\n{BETWEEN_RANKS}");
    }
    let legal = game.legal_moves();
    text += "   a   b   c   d   e   f   g   h\n\n";
    text += &format!(
        "Fen: {}\nCheckers: {}\nLegal moves: {}",
        position.to_fen(),
        position.checkers().into_iter().join(" "),
        legal.len()
    );
    if let Some(end) = game.terminal(&legal) {
        let end = match end {
            Terminal::Checkmate => "checkmate",
            Terminal::Stalemate => "stalemate",
            Terminal::FiftyMoves => "draw by the fifty-move rule",
            Terminal::ThreefoldRepetition => "draw by threefold repetition",
            Terminal::InsufficientMaterial => "draw by insufficient material",
        };
        text += &format!("\nGame over: {end}");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::io::Cursor;
    use std::path::Path;
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;
    use zeitnot_engine::chess::Variant;
    use zeitnot_engine::options::Visibility;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn said(is_person: bool, input: &str) -> String {
        let mut settings = Settings::default();
        settings.network.backend = "random".into();
        let output = Shared::default();
        let audience = Audience {
            is_person,
            ..Audience::default()
        };
        run(settings, audience, Cursor::new(input.to_owned()), output.clone()).unwrap();
        String::from_utf8(output.0.lock().clone()).unwrap()
    }

    #[test]
    fn a_person_is_greeted_with_version_and_network_and_a_gui_is_told_nothing_unasked() {
        let greeting = said(true, "");
        assert!(
            greeting.starts_with(&format!("Zeitnot {VERSION}, ")),
            "{greeting}"
        );
        assert!(
            greeting.contains("\ninfo string numbers from a hash"),
            "{greeting}"
        );
        assert_eq!(said(false, ""), "");
        let unknown = "info string unknown command \"boards\", ignored";
        assert_eq!(said(false, "boards"), format!("{unknown}\n"));
        assert!(said(true, "boards").ends_with(&format!("{unknown}. Enter help for a list of commands\n")));
    }

    #[test]
    fn commands_for_people_answer_a_pipe_too() {
        let text = said(false, "position startpos moves e2e4\nd\neval\ngo perft 2\nhelp");
        for expected in [
            "\nFen: rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\n",
            "\nq ",
            " plies\n  move ",
            "\na7a6: 30\n",
            "\ninfo string ",
            "\n\nNodes searched: 600\n\n",
            "\n  go perft N ",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        assert!(!text.contains("bestmove"), "{text}");
        let refused = said(false, "position fen 8/8 w - -\nd\neval\ngo perft 1");
        assert_eq!(
            refused.matches("ERROR: the last position was rejected").count(),
            3,
            "{refused}"
        );
        let busy = said(false, "go infinite\neval\ngo perft 1\nstop");
        assert_eq!(
            busy.matches(": ignored while a search is running").count(),
            2,
            "{busy}"
        );
    }

    /// A regression: the old network stayed without a word.
    #[test]
    fn a_network_that_changed_under_its_name_is_loaded_anew() {
        let folder = tempfile::tempdir().unwrap();
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
        let file = folder.path().join("net.pb.gz");
        let put = |name: &str| std::fs::copy(models.join(name), &file).unwrap();
        put("tiny/zeitnot-tiny.pb.gz");
        let name = file.to_str().unwrap();
        let mut engine = Engine::new(Settings::default()).unwrap();
        engine.set_option("WeightsFile", name).unwrap();
        assert!(engine.prepare().unwrap().is_some());
        let tiny = engine.network_sha256().unwrap().to_owned();
        put("zeitnot-small.pb.gz");
        engine.set_option("MultiPV", "2").unwrap();
        assert!(engine.prepare().unwrap().is_none(), "not amid a game");
        engine.new_game();
        assert!(engine.prepare().unwrap().is_some());
        assert_ne!(engine.network_sha256().unwrap(), tiny);
        put("tiny/zeitnot-tiny.pb.gz");
        engine.set_option("weights", name).unwrap();
        assert!(engine.prepare().unwrap().is_some());
        assert_eq!(engine.network_sha256().unwrap(), tiny);
        std::fs::remove_file(&file).unwrap();
        engine.new_game();
        assert!(engine.prepare().unwrap().is_none(), "what is gone stays in use");
    }

    #[test]
    fn the_button_of_other_engines_is_known() {
        assert_eq!(
            said(false, "setoption name Clear Hash\nsetoption name cleartree"),
            ""
        );
    }

    /// A regression: the network's value of two kings alone was shown for their draw.
    #[test]
    fn a_root_that_nobody_can_win_is_a_draw_from_its_first_visit() {
        // A second thread may have made a visit more.
        let commands =
            "setoption name Threads value 1\nposition fen 8/8/4k3/8/8/4K3/8/8 w - - 0 1\ngo depth 1";
        let text = said(false, commands);
        assert!(text.contains(" nodes 1 score cp 0 "), "{text}");
    }

    /// A regression: a count of months heard nothing, and an orphan went on with it.
    #[test]
    fn a_count_of_paths_hears_what_comes_meanwhile() {
        let stopped = "info string go perft: the count was stopped\n";
        let (begin, end) = ("go perft 8\nd\nisready\n", "\ngo perft 1\n");
        let text = said(false, &format!("{begin}stop{end}"));
        let places = ["readyok\n", stopped, "\nFen: ", "Nodes searched: 20\n\n"];
        let places = places.map(|part| text.find(part).unwrap());
        assert!(places.is_sorted(), "{text}");
        let text = said(false, &format!("{begin}quit{end}"));
        assert!(text.contains(stopped) && !text.contains("Nodes"), "{text}");
        // Commands that are piped in are finished, unless that takes minutes.
        let text = said(false, "go perft 4\ngo perft 8");
        assert!(
            text.ends_with(&format!("Nodes searched: 197281\n\n{stopped}")),
            "{text}"
        );
    }

    fn listed(line: &str) -> (String, String) {
        let (name, rest) = line
            .strip_prefix("option name ")
            .unwrap()
            .split_once(" type ")
            .unwrap();
        let default = rest.split_once("default ").map_or("", |(_, default)| default);
        let default = default
            .split(" min ")
            .next()
            .and_then(|text| text.split(" var ").next())
            .unwrap();
        (name.into(), default.into())
    }

    /// A regression: GUIs that send all options reset a changed one with two names to its default.
    #[test]
    fn a_default_leaves_alone_what_was_set_under_the_options_other_name() {
        let mut command_line = Settings::default();
        command_line.set("MoveOverheadMs", "300").unwrap();
        let in_order: Vec<_> = command_line
            .uci_lines(Visibility::Hidden)
            .map(|line| listed(&line))
            .collect();
        let mut by_name = in_order.clone();
        by_name.sort();
        for (changed, default) in [
            ("RamLimitMb", "0"),
            ("Hash", "0"),
            ("MoveOverheadMs", "300"),
            ("Move Overhead", "300"),
        ] {
            let mut wanted = command_line.clone();
            wanted.set(changed, "700").unwrap();
            for options in [&in_order, &by_name] {
                let output = UciOutput::new(io::sink(), "");
                let input = Input::read(io::empty(), &output);
                let audience = Audience::default();
                let mut session = Session::new(command_line.clone(), audience, input, output).unwrap();
                for (name, default) in options {
                    session.set_option(name, if name == changed { "700" } else { default });
                }
                assert_eq!(session.engine.settings(), &wanted, "{changed}");
                session.set_option(changed, default);
                assert_eq!(
                    session.engine.settings(),
                    &command_line,
                    "{changed} can be set back"
                );
            }
        }
    }

    fn after(moves: &str) -> String {
        board(&History::from_uci_position(moves, Variant::Standard).unwrap())
    }

    #[test]
    fn the_board_stands_as_white_sees_it() {
        let text = after("startpos moves e2e4");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[2], " | r | n | b | q | k | b | n | r | 8");
        assert_eq!(lines[10], " |   |   |   |   | P |   |   |   | 4");
        assert_eq!(
            lines[18..],
            [
                "   a   b   c   d   e   f   g   h",
                "",
                "Fen: rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1",
                "Checkers: ",
                "Legal moves: 20",
            ]
        );
    }

    #[test]
    fn checks_and_the_end_of_the_game_are_told() {
        let text = after("startpos moves f2f3 e7e5 g2g4 d8h4");
        assert!(
            text.ends_with("Checkers: h4\nLegal moves: 0\nGame over: checkmate"),
            "{text}"
        );
        let shuffle = "g1f3 g8f6 f3g1 f6g8";
        let text = after(&format!("startpos moves {shuffle} {shuffle}"));
        assert!(
            text.ends_with("Legal moves: 20\nGame over: draw by threefold repetition"),
            "{text}"
        );
    }
}
