//! `zeitnot match`: plays engines against each other, many games at once, and computes what they prove.
//! `zeitnot report` puts shards together, and several matches side by side.

use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use itertools::Itertools;
use serde::Serialize;

use super::game_args::{self, GameArgs, argument_error, threads};
use super::run::{RunId, Running, Shard, origins};
use crate::commands::engine_args::EngineArgs;
use crate::commands::running::{Progress, options_in_words};
use crate::output::{ExitStatus, Output, Told, eprint_message};
use zeitnot_engine::engine::{Settings, Setup};
use zeitnot_engine::note::Note;
use zeitnot_engine::options::unquoted;
use zeitnot_engine::params::entries;
use zeitnot_engine::time::Millis;
use zeitnot_lab::matches::{
    self, Contender, GameAssignment, GameRecord, MATCH_FILES, MatchConfig, MatchRowFiles, MatchSpeed,
    MatchStudy, MatchSummary, PlannedGame, PlayedGame, Ranking, SideLimit, Sprt, Team, Tournament,
};
use zeitnot_lab::report::Origin;
use zeitnot_lab::run::{Journal, PRECISION};
use zeitnot_lab::{EngineLog, ExternalCommand, ExternalEngine, LabError};

#[derive(Debug, Args)]
pub(crate) struct MatchArgs {
    /// Options of engine A that differ from the common ones: Name=Value,…, also name=…. Its limit: nodes=…,
    /// tc=…, movetime=MS, depth=…, and margin=MS that a move may take too long.
    /// Another engine: cmd=PROGRAM, args=…, option.NAME=…, wait=SECONDS of silence
    #[arg(long, value_name = "LIST", default_value = "")]
    a: String,
    /// The same for engine B
    #[arg(long, value_name = "LIST", default_value = "")]
    b: String,
    /// The same for an engine of a tournament, in place of --a and --b. Name it two times or more
    #[arg(long = "engine", value_name = "LIST", conflicts_with_all = ["a", "b"])]
    engines: Vec<String>,
    /// Who plays whom in a tournament
    #[arg(long, value_name = "KIND", default_value = "round-robin")]
    tournament: Tournament,
    /// Add what external engines are told, and what they say, to this file
    #[arg(long, value_name = "PATH")]
    engine_log: Option<PathBuf>,
    /// Games of the whole match, in a tournament of each match. Two from each opening with colours swapped
    #[arg(long, short, value_name = "N", default_value_t = 100)]
    games: u64,
    /// Play only part i of n, for several machines. `zeitnot report` puts the parts together
    #[arg(long, value_name = "i/n")]
    shard: Option<Shard>,
    /// Go on with a new process after an external engine has crashed or hung, which loses it the game, in up
    /// to N games
    #[arg(long, value_name = "N", default_value_t = 10)]
    recover: u64,
    /// End as soon as one hypothesis is proven:
    /// elo0=0,elo1=5[,alpha=0.05][,beta=0.05][,model=normalized|logistic]
    #[arg(long, value_name = "LIST")]
    sprt: Option<String>,
    /// Folder for games.pgn, rows (CSV) and the report (index.html). A match that was stopped goes on there
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten)]
    game: GameArgs,
    #[command(flatten)]
    settings: EngineArgs,
}

/// In PGN, of games that no file keeps.
const UNKNOWN_DATE: &str = "????-??-??";

/// The engines of a tournament, and who plays whom.
struct Players {
    contenders: Vec<Arc<Contender>>,
    /// A and B of each match.
    pairings: Vec<[usize; 2]>,
}

impl Players {
    /// A and B of a game.
    fn of(&self, assignment: GameAssignment) -> [usize; 2] {
        self.pairings[assignment.pairing()]
    }

    fn assignment(&self, game: u64) -> GameAssignment {
        GameAssignment::of(game, self.pairings.len() as u64)
    }
}

/// What messages call an engine.
fn letter(place: usize) -> String {
    match u8::try_from(place) {
        Ok(place @ 0..26) => char::from(b'A' + place).into(),
        _ => format!("engine {}", place + 1),
    }
}

pub(crate) fn run(args: &MatchArgs, output: &mut Output) -> Result<ExitStatus> {
    let sides = sides(args)?;
    let sprt = parse_sprt(args.sprt.as_deref())?;
    ensure!(
        sprt.is_none() || sides.len() == 2,
        "--sprt: it tests a match of two engines"
    );
    let are_alike = |(side, limit): &(SideArgs, SideLimit)| {
        side.external.is_none() && game_args::are_alike(*limit, &side.settings)
    };
    let are_timed = |(side, limit): &(SideArgs, SideLimit)| {
        side.external.is_some() || game_args::runs_in_real_time(*limit, &side.settings)
    };
    // Both games of a pair, so that a longer tournament begins with the same games.
    let wanted = if sides.len() > 2 {
        args.games.next_multiple_of(2)
    } else {
        args.games
    };
    let (openings, games) = args.game.read_openings(wanted, sides.iter().all(are_alike))?;
    let in_real_time = sides.iter().any(are_timed);
    let config = args
        .game
        .config(&args.settings.0, &openings, in_real_time, args.recover)?;
    let players = Players {
        pairings: args.tournament.pairings(sides.len()),
        contenders: contenders(&sides)?,
    };
    let shard = args.shard.unwrap_or_default();
    let planned = || {
        let games = (0..wanted * players.pairings.len() as u64).map(|game| players.assignment(game));
        games.filter(|game| shard.takes(game.pair))
    };
    let schedule: Vec<_> = planned().filter(|game| game.number() < games).collect();
    let match_id = match_id(args, &config, &players);
    let told = foretold(&players)?;
    let mut facts = facts(args, &config, &players);
    facts.extend(told.facts().map(|(name, note)| (name.to_owned(), note)));
    let running = Running::begin(
        args.out.as_deref(),
        match_id.clone(),
        &facts,
        &MATCH_FILES,
        output,
    )?;
    for contender in &players.contenders {
        if let Team::External(engine) = &contender.team {
            engine.command.stop.get_or_init(|| running.stop);
        }
    }
    let run = running.run.as_ref();
    let mut summaries = Vec::new();
    for pairing in &players.pairings {
        let names = pairing.map(|place| players.contenders[place].name.as_str());
        summaries.push(MatchSummary::new(names, sprt));
    }
    let add = |game: &PlayedGame| summaries[players.assignment(game.number()).pairing()].add_game(game);
    let journal = match run {
        Some(run) => Some(matches::open_games(run, &schedule, add)?),
        None => None,
    };
    let played_before = summaries.iter().map(|summary| summary.games).sum();
    let mut recorder = MatchRecorder {
        match_id: &match_id,
        date: run.map_or(UNKNOWN_DATE, |run| run.origin().date.as_str()),
        players: &players,
        summaries,
        journal,
        progress: Progress::new("games", Some(planned().count() as u64), played_before),
        started: Instant::now(),
        nodes: 0,
        told,
    };
    if !recorder.is_decided() {
        let left = schedule.iter().skip(played_before as usize);
        let mut games = left.map(|&assignment| PlannedGame {
            assignment,
            contenders: players
                .of(assignment)
                .map(|place| players.contenders[place].clone()),
        });
        matches::play(
            &config,
            running.stop,
            || Ok(games.next()),
            |game| recorder.add(&game),
        )?;
    }
    recorder.progress.finish();
    if let Some(journal) = &mut recorder.journal {
        journal.sync()?;
    }
    let tables = config.rules.adjudication.tables.as_ref();
    if let Some(fault) = tables.and_then(|tables| tables.read_error()) {
        let text = format!("--adjudicate-syzygy: {fault}. Games that needed it were played on");
        eprint_message(Note::Error(text));
    }
    if let [summary] = &mut recorder.summaries[..] {
        summary.speed = Some(MatchSpeed {
            nodes: recorder.nodes,
            seconds: recorder.started.elapsed().as_secs_f64(),
        });
    }
    if let Some(run) = run {
        let files = MatchRowFiles::paths(run.folder());
        let studies = MatchStudy::read(&files, sprt)?;
        let origins = [run.origin().clone()];
        output.tell_page(write_page(&studies, &files, &origins, run.folder())?);
    }
    let is_over = recorder.games() >= schedule.len() as u64 || recorder.is_decided();
    output.report(&MatchesReport {
        ranking: Ranking::of(&recorder.summaries),
        matches: recorder.summaries,
        notes: recorder.told.texts.clone(),
    })?;
    Ok(running.end(is_over, 0))
}

/// Tells what our engines have to tell at their first move, and which of them play alike.
fn foretold(players: &Players) -> Result<Told> {
    let mut told = Told::default();
    let mut played = Vec::new();
    for contender in &players.contenders {
        let Contender {
            name, team, limit, ..
        } = &**contender;
        let Team::Own(setup) = team else { continue };
        let (notes, settings) = setup.as_played(limit.first())?;
        for note in notes {
            told.tell(format_args!("{name}: {note}"));
        }
        let own = (settings, *limit);
        if let Some((other, _)) = played.iter().find(|(_, known)| *known == own) {
            told.tell(format_args!(
                "{other} and {name} play alike: their options come to the same"
            ));
        }
        played.push((name, own));
    }
    Ok(told)
}

fn write_page(
    studies: &[MatchStudy],
    files: &[PathBuf],
    origins: &[Origin],
    folder: &Path,
) -> Result<PathBuf> {
    let page = matches::page(studies).origins(origins);
    Ok(matches::add_games(page, studies, files)?.write(folder)?)
}

fn facts(args: &MatchArgs, config: &MatchConfig<'_>, players: &Players) -> Vec<(String, String)> {
    let network = |own: &Contender| match &own.team {
        Team::Own(setup) => setup.backend().facts().description.clone(),
        Team::External(engine) => format!("{}, an external engine", engine.name),
    };
    let precision = |own: &Contender| match &own.team {
        Team::Own(setup) => setup.backend().facts().precision.clone(),
        Team::External(_) => String::new(),
    };
    let limit = |own: &Contender| {
        let mut text = own.limit.to_string();
        if !matches!(own.limit, SideLimit::Clock(_)) {
            text += " a move";
        }
        if own.margin > Millis::ZERO {
            text += &format!(", {} ms more without loss", own.margin.0);
        }
        text
    };
    let mut facts = Vec::new();
    for (text, contender) in args.lists().into_iter().zip(&players.contenders) {
        let options = match text.trim() {
            "" => "the common options",
            text => text,
        };
        facts.push((format!("options of {}", contender.name), options.to_owned()));
    }
    facts.push(("common options".into(), options_in_words(&args.settings.0)));
    add_of_each(&mut facts, players, "network", network);
    add_of_each(&mut facts, players, PRECISION, precision);
    add_of_each(&mut facts, players, "limit", limit);
    for (name, fact) in args.game.facts() {
        facts.push((name.to_owned(), fact));
    }
    facts.push(("games at once".into(), config.concurrency.to_string()));
    facts.retain(|(_, fact)| !fact.is_empty());
    facts
}

/// Once, if all have the same.
fn add_of_each(
    facts: &mut Vec<(String, String)>,
    players: &Players,
    name: &str,
    value: impl Fn(&Contender) -> String,
) {
    let values: Vec<_> = players.contenders.iter().map(|own| value(own)).collect();
    if values.iter().all_equal() {
        facts.push((name.to_owned(), values[0].clone()));
        return;
    }
    for (own, value) in players.contenders.iter().zip(values) {
        facts.push((format!("{name} of {}", own.name), value));
    }
}

fn parse_sprt(text: Option<&str>) -> Result<Option<Sprt>> {
    let sprt = text.map(Sprt::parse).transpose();
    sprt.map_err(|error| argument_error("sprt", error))
}

struct MatchRecorder<'a> {
    match_id: &'a str,
    /// When the run began.
    date: &'a str,
    players: &'a Players,
    summaries: Vec<MatchSummary>,
    journal: Option<Journal<PlayedGame>>,
    progress: Progress,
    started: Instant,
    nodes: u64,
    told: Told,
}

impl MatchRecorder<'_> {
    /// A break if no more are needed.
    fn add(&mut self, game: &GameRecord) -> Result<ControlFlow<()>, LabError> {
        if let Some(fault) = &game.fault {
            eprint_message(fault);
        }
        for (place, notes) in self.players.of(game.assignment).into_iter().zip(&game.notes) {
            let name = &self.players.contenders[place].name;
            for note in notes {
                self.told.tell(format_args!("{name}: {note}"));
            }
        }
        let pairing = game.assignment.pairing();
        let game = PlayedGame::new(self.match_id, self.date, game);
        self.summaries[pairing].add_game(&game);
        self.nodes += game.game.a_nodes + game.game.b_nodes;
        if let Some(journal) = &mut self.journal {
            journal.add(&game)?;
        }
        let line = match &self.summaries[..] {
            [summary] => summary.line(),
            all => Ranking::of(all).map_or(String::new(), |ranking| ranking.line()),
        };
        self.progress.show(self.games(), line);
        Ok(if self.is_decided() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    }

    fn games(&self) -> u64 {
        self.summaries.iter().map(|summary| summary.games).sum()
    }

    fn is_decided(&self) -> bool {
        self.summaries.iter().all(MatchSummary::is_proven)
    }
}

/// Of all that the games depend on, except where files lie and how many games there are. Shards and longer
/// matches have the same.
fn match_id(args: &MatchArgs, config: &MatchConfig<'_>, players: &Players) -> String {
    let mut id = RunId::default();
    for contender in &players.contenders {
        match &contender.team {
            Team::Own(setup) => id.add_engine(setup),
            Team::External(engine) => {
                id.add(&engine.name);
                id.add_external(&engine.command);
            }
        }
    }
    let contenders = &players.contenders;
    let margins: Vec<_> = contenders.iter().map(|own| own.margin).collect();
    if margins.iter().any(|margin| *margin > Millis::ZERO) {
        id.add(format!("{margins:?}"));
    }
    if contenders.len() > 2 {
        id.add(format!("{:?}", players.pairings));
    }
    let names: Vec<_> = contenders.iter().map(|own| &*own.name).collect();
    let limits: Vec<_> = contenders.iter().map(|own| own.limit).collect();
    id.add_games(&names, &limits, &config.rules, config.openings, &args.game);
    id.finish()
}

/// They share a backend if they can. External engines get their own name, unless the user has chosen one.
fn contenders(sides: &[(SideArgs, SideLimit)]) -> Result<Vec<Arc<Contender>>> {
    let mut contenders = Vec::<Contender>::new();
    for &(ref side, limit) in sides {
        let team = team(side, limit, &contenders)?;
        let name = match &team {
            Team::External(engine) if !side.is_named => &engine.name,
            _ => &side.name,
        };
        contenders.push(Contender {
            name: name.clone(),
            team,
            limit,
            margin: side.margin,
        });
    }
    let counts = contenders.iter().counts_by(|contender| contender.name.clone());
    for (place, contender) in contenders.iter_mut().enumerate() {
        if counts[&contender.name] > 1 {
            contender.name = format!("{} ({})", contender.name, letter(place));
        }
    }
    for (contender, (side, _)) in contenders.iter().zip(sides) {
        tell_engine(contender, side);
    }
    Ok(contenders.into_iter().map(Arc::new).collect())
}

/// What plays under the name, and what it does not heed.
fn tell_engine(contender: &Contender, side: &SideArgs) {
    let name = &contender.name;
    match &contender.team {
        Team::Own(setup) => {
            let mut notes = setup.told(threads(setup.settings()));
            notes.extend(game_args::idle_options(contender.limit, &side.settings).map(Note::from));
            for note in notes {
                eprint_message(format_args!("{name}: {note}"));
            }
        }
        Team::External(engine) => eprint_message(format_args!("{name}: {}", engine.name)),
    }
}

fn team(side: &SideArgs, limit: SideLimit, others: &[Contender]) -> Result<Team> {
    if let Some(command) = &side.external {
        return Ok(Team::External(Arc::new(ExternalEngine::new(command.clone())?)));
    }
    let settings = game_args::settings_under(limit, side.settings.clone());
    let known = others.iter().find_map(|other| match &other.team {
        Team::Own(setup) if setup.has_backend_of(&settings) => Some(setup),
        _ => None,
    });
    let setup = match known {
        Some(known) => known.with_settings(settings)?,
        None => Setup::new(settings)?,
    };
    Ok(Team::Own(Arc::new(setup)))
}

impl MatchArgs {
    fn lists(&self) -> Vec<&str> {
        match &self.engines[..] {
            [] => vec![&self.a, &self.b],
            engines => engines.iter().map(String::as_str).collect(),
        }
    }
}

/// Of one engine, such as `--a 'name=new,nodes=200,TimeManager=smooth(mle-mlh),CPuct=1.9'`.
#[derive(Debug)]
struct SideArgs {
    name: String,
    is_named: bool,
    limit: Option<SideLimit>,
    margin: Millis,
    settings: Settings,
    external: Option<ExternalCommand>,
}

fn sides(args: &MatchArgs) -> Result<Vec<(SideArgs, SideLimit)>> {
    let lists = args.lists();
    ensure!(lists.len() > 1, "--engine: name two engines or more");
    let log = args.engine_log.as_deref().map(EngineLog::open).transpose();
    let log = log.map_err(|error| argument_error("engine-log", error))?;
    let mut sides = Vec::new();
    for (place, text) in lists.into_iter().enumerate() {
        let flag = if args.engines.is_empty() {
            ["a", "b"][place]
        } else {
            "engine"
        };
        let mut side = SideArgs::parse(text, &args.settings.0, flag, &letter(place))?;
        if let Some(external) = &mut side.external {
            external.log.clone_from(&log);
        }
        let limit = args.game.limit(side.limit)?;
        sides.push((side, limit));
    }
    Ok(sides)
}

impl SideArgs {
    /// Changes some of the `common` options. `letter` names the engine if nothing else does.
    fn parse(text: &str, common: &Settings, flag: &str, letter: &str) -> Result<SideArgs> {
        let name = match text.trim() {
            "" => letter,
            text => text,
        };
        let mut split = entries(text).into_iter().filter_map(split_entry);
        let program = split.find(|(key, _)| *key == "cmd");
        let mut side = SideArgs {
            name: name.to_owned(),
            is_named: false,
            limit: None,
            margin: Millis::ZERO,
            settings: common.clone(),
            external: program.map(|(_, program)| ExternalCommand::new(&program)),
        };
        for entry in entries(text) {
            side.take(entry)
                .map_err(|reason| argument_error(flag, format_args!("{entry}: {reason}")))?;
        }
        Ok(side)
    }

    fn take(&mut self, entry: &str) -> Result<()> {
        let (key, value) = split_entry(entry).context("write Name=Value")?;
        match (key, &mut self.external) {
            ("name", _) => {
                self.name = value;
                self.is_named = true;
            }
            ("nodes", _) => self.limit = Some(SideLimit::Nodes(positive(&value)?)),
            ("tc", _) => self.limit = Some(SideLimit::Clock(value.parse()?)),
            ("movetime", _) => {
                let ms: u32 = positive(&value)?;
                self.limit = Some(SideLimit::MoveTime(Millis(ms.into())));
            }
            ("depth", _) => self.limit = Some(SideLimit::Depth(positive(&value)?)),
            ("margin", _) => {
                let ms: u32 = value.parse().ok().context("expected milliseconds")?;
                self.margin = Millis(ms.into());
            }
            ("cmd", _) => {}
            ("args", Some(external)) => {
                let (_, quoted) = entry.split_once('=').unwrap_or_default();
                external.arguments = words(quoted);
            }
            ("wait", Some(external)) => {
                let seconds = value.parse().ok().filter(|&seconds: &u64| seconds > 0);
                external.silence = Duration::from_secs(seconds.context("expected seconds above 0")?);
            }
            (_, Some(external)) => {
                let name = key.strip_prefix("option.");
                let name = name
                    .context("the engine of cmd= takes name=, nodes=, tc=, movetime=, depth=, margin=, args=, wait= and option.NAME=")?;
                external.options.push((name.to_owned(), value));
            }
            (_, None) => {
                let spec = Settings::spec(key)?;
                let is_of_sessions = Settings::is_for_sessions_only(spec);
                ensure!(
                    !is_of_sessions,
                    "it acts in a UCI session only, not in the games of this command"
                );
                let is_shared = ["Threads", "UCI_Chess960"].contains(&spec.name);
                ensure!(!is_shared, "both engines share it: give it as --{}", spec.flag);
                self.settings.set(key, &value)?;
            }
        }
        Ok(())
    }
}

fn positive<T: FromStr + Default + PartialOrd>(text: &str) -> Result<T> {
    let number = text.parse().ok().filter(|number| *number > T::default());
    number.context("expected a number above 0")
}

/// The engine of `--with`, which has no limit of its own.
pub(super) fn judge_command(text: &str) -> Result<ExternalCommand> {
    let side = SideArgs::parse(text, &Settings::default(), "with", "")?;
    let plays = side.limit.is_some() || side.margin > Millis::ZERO;
    let command = if plays { None } else { side.external };
    command.context("--with: write cmd=PROGRAM, and with it args=, wait= and option.NAME= at most")
}

/// Splits at spaces outside quotes, as a shell does. A backslash stands for itself.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        if quote.is_none() && c.is_whitespace() {
            words.extend(word.take());
            continue;
        }
        let word = word.get_or_insert_default();
        if quote == Some(c) {
            quote = None;
        } else if quote.is_none() && (c == '"' || c == '\'') {
            quote = Some(c);
        } else {
            word.push(c);
        }
    }
    words.extend(word);
    words
}

/// Splits `Name=Value`, the value with or without quotes.
fn split_entry(entry: &str) -> Option<(&str, String)> {
    let (key, value) = entry.split_once('=')?;
    Some((key.trim(), unquoted(value.trim())))
}

#[derive(Serialize)]
struct MatchesReport {
    matches: Vec<MatchSummary>,
    /// With three or more players.
    ranking: Option<Ranking>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl fmt::Display for MatchesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [summary] = &self.matches[..] {
            return summary.fmt(f);
        }
        matches::table(&self.matches).fmt(f)?;
        let pruning = matches::pruning_table(&self.matches);
        for table in self.ranking.iter().map(Ranking::table).chain(pruning) {
            write!(f, "\n{table}")?;
        }
        Ok(())
    }
}

pub(super) fn report(
    files: &[PathBuf],
    sprt: Option<&str>,
    out: Option<&Path>,
    output: &mut Output,
) -> Result<ExitStatus> {
    let sprt = parse_sprt(sprt)?;
    let studies = MatchStudy::read(files, sprt)?;
    ensure!(
        !studies.is_empty(),
        "no game is in these files: nothing to report"
    );
    if let Some(folder) = out {
        MatchRowFiles::write_merged(files, folder)?;
        output.tell_page(write_page(&studies, files, &origins(files), folder)?);
    }
    let matches: Vec<_> = studies.into_iter().map(|study| study.summary).collect();
    output.report(&MatchesReport {
        ranking: Ranking::of(&matches),
        matches,
        notes: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SideArgs> {
        let mut common = Settings::default();
        common.search.cpuct = 2.0;
        SideArgs::parse(text, &common, "a", "A")
    }

    #[test]
    fn options_override_the_common_ones() {
        let side = parse("TimeManager=smooth(mle-legacy(midpoint=50),x=1), nodes=7,fpu-value=.5").unwrap();
        assert_eq!(
            side.settings.time.time_manager,
            "smooth(mle-legacy(midpoint=50),x=1)"
        );
        assert_eq!(
            (side.settings.search.cpuct, side.settings.search.fpu_value),
            (2.0, 0.5)
        );
        assert_eq!(side.limit, Some(SideLimit::Nodes(7)));
        assert!(side.name.starts_with("TimeManager="));
    }

    #[test]
    fn names_and_quotes() {
        let side = parse("name=new one,weights=\"a,b.pb.gz\",tc=5+0.1").unwrap();
        assert_eq!(
            (side.name.as_str(), side.settings.network.weights_file.as_str()),
            ("new one", "a,b.pb.gz")
        );
        assert_eq!(side.limit.unwrap().to_string(), "5+0.1");
        let limit = |text: &str| parse(text).unwrap().limit.unwrap();
        assert_eq!(limit("movetime=100"), SideLimit::MoveTime(Millis(100.0)));
        assert_eq!(limit("depth=8"), SideLimit::Depth(8));
        assert_eq!(parse("tc=1,margin=50").unwrap().margin, Millis(50.0));
        assert_eq!(parse("").unwrap().name, "A");
    }

    #[test]
    fn external_engines_have_options_of_their_own() {
        let side =
            parse("option.Move Overhead=10,cmd='/a b/sf',args=-x 1,wait=60,tc=1+0.1,option.UCI_Elo=1500")
                .unwrap();
        let external = side.external.unwrap();
        assert_eq!(
            (external.program.as_str(), external.arguments.join("|").as_str()),
            ("/a b/sf", "-x|1")
        );
        assert_eq!(external.options[0], ("Move Overhead".to_owned(), "10".to_owned()));
        assert_eq!((external.options.len(), side.is_named), (2, false));
        let arguments = |text: &str| parse(text).unwrap().external.unwrap().arguments;
        let path = r"--weights=C:\my nets\a b.pb.gz";
        assert_eq!(arguments(&format!("cmd=x,args=-v \"{path}\"")), ["-v", path]);
        assert_eq!(
            arguments("cmd=x,args='one, word' --w='a b'"),
            ["one, word", "--w=a b"]
        );
    }

    #[test]
    fn faults_name_the_entry() {
        let fault = |text| parse(text).unwrap_err().to_string();
        assert_eq!(fault("CPuct"), "--a: CPuct: write Name=Value");
        assert_eq!(
            fault("Cpuctt=1"),
            "--a: Cpuctt=1: unknown option \"Cpuctt\". Did you mean CPuct?"
        );
        assert!(
            fault("cmd=sf,CPuct=1").contains("option.NAME="),
            "{}",
            fault("cmd=sf,CPuct=1")
        );
        assert_eq!(fault("nodes=0"), "--a: nodes=0: expected a number above 0");
        assert!(fault("tc=x").contains("no time control"));
    }
}
