//! `zeitnot match`: plays engine A against engine B, many games at once, and computes what they prove.
//! `zeitnot report` on such rows puts shards together, and several matches side by side.

use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;

use super::game_args::{self, GameArgs, argument_error, threads};
use super::run::{RunId, Running, Shard, origins};
use crate::commands::engine_args::EngineArgs;
use crate::commands::running::Progress;
use crate::output::{ExitStatus, Failure, Output, Told, eprint_message};
use zeitnot_engine::engine::{EngineSetup, Settings};
use zeitnot_engine::note::Note;
use zeitnot_engine::options::unquoted;
use zeitnot_engine::params::entries;
use zeitnot_engine::time::NoTimeControl;
use zeitnot_lab::matches::{
    self, GameAssignment, GameRecord, MatchConfig, MatchCounts, MatchFiles, MatchHeader, MatchRowFiles,
    MatchRules, MatchStudy, MatchSummary, PlannedGame, PlayedGame, Ranking, SideLimit, Sprt, Team,
};
use zeitnot_lab::report::Origin;
use zeitnot_lab::{ExternalCommand, ExternalEngine, LabError};

#[derive(Debug, Args)]
pub(crate) struct MatchArgs {
    /// Options of engine A that differ from the common ones: Name=Value,…, also name=…, nodes=…, tc=….
    /// Another engine: cmd=PROGRAM, args=…, option.NAME=…, wait=SECONDS of silence
    #[arg(long, value_name = "LIST", default_value = "")]
    a: String,
    /// The same for engine B
    #[arg(long, value_name = "LIST", default_value = "")]
    b: String,
    /// Games of the whole match, two from each opening with colours swapped
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

pub(crate) fn run(args: &MatchArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    let mut sides =
        [SideArgs::parse(&args.a, &args.settings.0, "A")?, SideArgs::parse(&args.b, &args.settings.0, "B")?];
    let sprt = parse_sprt(args.sprt.as_deref())?;
    let limit = |side: &SideArgs| side.limit.or(args.game.limit()).ok_or_else(game_args::missing_limit);
    let limits = [limit(&sides[0])?, limit(&sides[1])?];
    let are_alike = |(side, limit): (&SideArgs, SideLimit)| {
        side.external.is_none() && game_args::are_alike(limit, &side.settings)
    };
    let (openings, games) = args.game.read_openings(args.games, sides.iter().zip(limits).all(are_alike))?;
    let rules = args.game.rules(limits, args.recover)?;
    let teams = teams(&mut sides, &rules)?;
    let config = args.game.config(&args.settings.0, &openings, teams, rules);
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    let planned = (0..args.games).filter(|game| shard.takes(game / 2));
    let schedule: Vec<u64> = planned.clone().take_while(|game| *game < games).collect();
    let names = [sides[0].name.as_str(), sides[1].name.as_str()];
    let match_id = match_id(args, &config, names);
    let told = foretold(&config)?;
    let facts: Vec<_> = facts(args, &config).into_iter().chain(told.facts()).collect();
    let running = Running::begin(args.out.as_deref(), match_id.clone(), &facts, &MatchFiles::NAMES)?;
    let run = running.run.as_ref();
    let header = MatchHeader { match_id: &match_id, names, limits: config.rules.limits };
    let mut counts = MatchCounts::default();
    let files = run.map(|run| MatchFiles::open(run, &schedule, |game| counts.add_game(game)));
    let files = files.transpose()?;
    let played_before = counts.games;
    let mut recorder = MatchRecorder {
        header,
        counts,
        sprt,
        files,
        progress: Progress::new("games", Some(planned.count() as u64), played_before),
        started: Instant::now(),
        nodes: 0,
        told,
    };
    if !recorder.is_decided() {
        let mut games = schedule
            .iter()
            .skip(played_before as usize)
            .map(|&game| PlannedGame { assignment: GameAssignment::of(game), teams: config.teams.clone() });
        matches::play(&config, running.stop, || Ok(games.next()), |game| recorder.add(&game))?;
    }
    recorder.progress.finish();
    let tables = config.rules.adjudication.tables.as_ref();
    if let Some(fault) = tables.and_then(|tables| tables.read_error()) {
        let text = format!("--adjudicate-syzygy: {fault}. Games that needed it were played on");
        eprint_message(Note::Error(text));
    }
    let summary = recorder.summary();
    if let Some(run) = run {
        let files = MatchRowFiles::paths(run.folder());
        let studies = MatchStudy::read(&files, sprt.as_ref())?;
        output.tell_page(write_page(&studies, None, &files, &[run.origin().clone()], run.folder())?);
    }
    output.write(&ToldSummary { summary: &summary, notes: &recorder.told.texts }, &summary)?;
    let is_whole = recorder.counts.games >= schedule.len() as u64 || recorder.is_decided();
    Ok(running.end(is_whole, None))
}

#[derive(Serialize)]
struct ToldSummary<'a> {
    #[serde(flatten)]
    summary: &'a MatchSummary,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
}

/// Tells what our engines have to tell at their first move, and whether they play alike.
fn foretold(config: &MatchConfig<'_>) -> Result<Told, Failure> {
    let (mut told, mut played) = (Told::default(), Vec::new());
    for ((side, team), limit) in ["A", "B"].into_iter().zip(&config.teams).zip(config.rules.limits) {
        let Team::Own(setup) = team else { continue };
        let (notes, settings) = setup.as_played(&limit.first())?;
        notes.iter().for_each(|note| told.tell(format_args!("{side}: {note}")));
        played.push((settings, limit));
    }
    if let [a, b] = &played[..]
        && a == b
    {
        told.tell("A and B play alike: their options come to the same");
    }
    Ok(told)
}

fn write_page(
    studies: &[MatchStudy],
    ranking: Option<&Ranking>,
    files: &[PathBuf],
    origins: &[Origin],
    folder: &Path,
) -> Result<PathBuf, Failure> {
    let page = matches::page(studies, ranking).origins(origins);
    Ok(matches::add_games(page, studies, files)?.write(folder)?)
}

fn facts(args: &MatchArgs, config: &MatchConfig<'_>) -> Vec<(&'static str, String)> {
    let network = |team: &Team| match team {
        Team::Own(setup) => setup.backend().info().description.clone(),
        Team::External(engine) => format!("{}, an external engine", engine.name),
    };
    let either = |names: [&'static str; 3], [a, b]: [String; 2]| {
        if a == b { vec![(names[0], a)] } else { vec![(names[1], a), (names[2], b)] }
    };
    let options =
        |text: &str| if text.trim().is_empty() { "the common options".into() } else { text.to_owned() };
    let common: Vec<_> =
        args.settings.0.changed().into_iter().map(|(flag, value)| format!("--{flag}={value}")).collect();
    let common = if common.is_empty() { "the defaults".into() } else { common.join(" ") };
    let mut facts = vec![
        ("options of A", options(&args.a)),
        ("options of B", options(&args.b)),
        ("common options", common),
    ];
    facts.extend(either(
        ["network", "network of A", "network of B"],
        [0, 1].map(|side| network(&config.teams[side])),
    ));
    let limits = config.rules.limits.map(|limit| match limit {
        SideLimit::Nodes(_) => format!("{limit} a move"),
        SideLimit::Clock(_) => limit.to_string(),
    });
    facts.extend(either(["limit", "limit of A", "limit of B"], limits));
    facts.extend(args.game.facts());
    facts.push(("games at once", config.concurrency.to_string()));
    facts
}

fn parse_sprt(text: Option<&str>) -> Result<Option<Sprt>, Failure> {
    text.map(Sprt::parse).transpose().map_err(|error| argument_error("sprt", error))
}

struct MatchRecorder<'a> {
    header: MatchHeader<'a>,
    counts: MatchCounts,
    sprt: Option<Sprt>,
    files: Option<MatchFiles>,
    progress: Progress,
    started: Instant,
    nodes: u64,
    told: Told,
}

impl MatchRecorder<'_> {
    /// Adds a game. The answer is a break if no more are needed.
    fn add(&mut self, game: &GameRecord) -> Result<ControlFlow<()>, LabError> {
        game.fault.iter().for_each(eprint_message);
        for (side, notes) in ["A", "B"].into_iter().zip(&game.notes) {
            notes.iter().for_each(|note| self.told.tell(format_args!("{side}: {note}")));
        }
        let game = PlayedGame::new(self.header, game);
        self.counts.add_game(&game);
        self.nodes += game.game.a_nodes + game.game.b_nodes;
        if let Some(files) = &mut self.files {
            files.add(&game)?;
        }
        self.progress.show(self.counts.games, self.summary().line());
        Ok(if self.is_decided() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn is_decided(&self) -> bool {
        self.sprt.is_some_and(|sprt| sprt.state(&self.counts.tally).is_decided())
    }

    fn summary(&self) -> MatchSummary {
        let speed = (self.nodes, self.started.elapsed().as_secs_f64());
        MatchSummary::new(self.header.names, &self.counts, self.sprt.as_ref(), Some(speed))
    }
}

/// Returns a hash over all that the games depend on, except where files lie and how many games there are: it
/// is equal for all shards, and for a match that is to be made longer.
fn match_id(args: &MatchArgs, config: &MatchConfig<'_>, names: [&str; 2]) -> String {
    let mut id = RunId::new();
    for team in &config.teams {
        match team {
            Team::Own(setup) => id.add_engine(setup),
            Team::External(engine) => {
                let ExternalCommand { program, arguments, options, .. } = &engine.command;
                let file = Path::new(program).file_name();
                id.add(format!("{file:?} {} {arguments:?} {options:?}", engine.name));
            }
        }
    }
    id.add_games(&names, &config.rules, config.openings, &args.game);
    id.finish()
}

/// Makes the two engines ready. They share a backend if they can. External engines get their own name, unless
/// the user has chosen one.
fn teams(sides: &mut [SideArgs; 2], rules: &MatchRules) -> Result<[Team; 2], Failure> {
    let a = team(&mut sides[0], rules.limits[0], None)?;
    let b = team(&mut sides[1], rules.limits[1], Some(&a))?;
    for (((letter, team), side), limit) in [("A", &a), ("B", &b)].into_iter().zip(&*sides).zip(rules.limits) {
        match team {
            Team::Own(setup) => {
                let idle = game_args::idle_options(limit, &side.settings);
                for line in setup.told(threads(setup.settings())).into_iter().chain(idle.map(Note::from)) {
                    eprint_message(format_args!("{letter}: {line}"));
                }
            }
            Team::External(engine) => eprint_message(format_args!("{letter}: {}", engine.name)),
        }
    }
    if sides[0].name == sides[1].name {
        sides[0].name += " (A)";
        sides[1].name += " (B)";
    }
    Ok([a, b])
}

fn team(side: &mut SideArgs, limit: SideLimit, other: Option<&Team>) -> Result<Team, Failure> {
    if let Some(command) = &side.external {
        let engine =
            ExternalEngine::new(command.clone()).map_err(|error| Failure::Input(error.to_string()))?;
        if !side.is_named {
            side.name = engine.name.clone();
        }
        return Ok(Team::External(Arc::new(engine)));
    }
    let settings = game_args::settings_under(limit, side.settings.clone());
    let setup = match other {
        Some(Team::Own(other)) if other.has_backend_of(&settings) => other.with_settings(settings)?,
        _ => EngineSetup::new(settings)?,
    };
    Ok(Team::Own(Arc::new(setup)))
}

/// The arguments of one engine, such as `--a 'name=new,nodes=200,TimeManager=smooth(mle-mlh),CPuct=1.9'`.
#[derive(Clone, Debug)]
struct SideArgs {
    name: String,
    is_named: bool,
    limit: Option<SideLimit>,
    settings: Settings,
    external: Option<ExternalCommand>,
}

impl SideArgs {
    /// Parses `text`, which changes some of the `common` options. `letter` names the engine if nothing else
    /// does.
    fn parse(text: &str, common: &Settings, letter: &str) -> Result<SideArgs, Failure> {
        let program = entries(text).into_iter().filter_map(split_entry).find(|(key, _)| *key == "cmd");
        let mut side = SideArgs {
            name: if text.trim().is_empty() { letter.to_owned() } else { text.trim().to_owned() },
            is_named: false,
            limit: None,
            settings: common.clone(),
            external: program.map(|(_, program)| ExternalCommand::new(&program)),
        };
        for entry in entries(text) {
            side.take(entry).map_err(|reason| {
                Failure::Input(format!("--{}: {entry}: {reason}", letter.to_lowercase()))
            })?;
        }
        Ok(side)
    }

    fn take(&mut self, entry: &str) -> Result<(), String> {
        let (key, value) = split_entry(entry).ok_or("write Name=Value")?;
        match (key, &mut self.external) {
            ("name", _) => (self.name, self.is_named) = (value, true),
            ("nodes", _) => {
                let nodes = value.parse().ok().filter(|&nodes| nodes > 0);
                self.limit = Some(SideLimit::Nodes(nodes.ok_or("expected a number above 0")?));
            }
            ("tc", _) => {
                let control = value.parse().map_err(|error: NoTimeControl| error.to_string())?;
                self.limit = Some(SideLimit::Clock(control));
            }
            ("cmd", _) => {}
            ("args", Some(external)) => {
                let (_, quoted) = entry.split_once('=').unwrap_or_default();
                external.arguments = words(quoted);
            }
            ("wait", Some(external)) => {
                let seconds = value.parse().ok().filter(|&seconds: &u64| seconds > 0);
                external.silence = Duration::from_secs(seconds.ok_or("expected seconds above 0")?);
            }
            (_, Some(external)) => {
                let name = key.strip_prefix("option.");
                let name =
                    name.ok_or("the engine of cmd= takes name=, nodes=, tc=, args=, wait= and option.NAME=")?;
                external.options.push((name.to_owned(), value));
            }
            (_, None) => {
                let spec = Settings::spec(key).map_err(|error| error.to_string())?;
                if Settings::is_for_sessions_only(spec) {
                    return Err("it acts in a UCI session only, not in the games of this command".into());
                }
                if ["Threads", "UCI_Chess960"].contains(&spec.name) {
                    return Err(format!("both engines share it: give it as --{}", spec.flag));
                }
                self.settings.set(key, &value).map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }
}

/// The engine of `--with`, which has no limit of its own.
pub(super) fn judge_command(text: &str) -> Result<ExternalCommand, Failure> {
    let side = SideArgs::parse(text, &Settings::default(), "with")?;
    side.external.filter(|_| side.limit.is_none()).ok_or_else(|| {
        Failure::Input("--with: write cmd=PROGRAM, and with it args=, wait= and option.NAME= at most".into())
    })
}

/// Splits arguments at spaces outside quotes, as a shell does. A backslash is a character like any other.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut is_open, mut quote) = (Vec::<String>::new(), false, None);
    for c in text.chars() {
        let is_quote = if quote.is_none() { c == '"' || c == '\'' } else { quote == Some(c) };
        if quote.is_none() && c.is_whitespace() {
            is_open = false;
            continue;
        }
        if !std::mem::replace(&mut is_open, true) {
            words.push(String::new());
        }
        if is_quote {
            quote = if quote.is_none() { Some(c) } else { None };
        } else if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    words
}

/// Splits `Name=Value`, the value with or without quotes.
fn split_entry(entry: &str) -> Option<(&str, String)> {
    let (key, value) = entry.split_once('=')?;
    Some((key.trim(), unquoted(value.trim())))
}

/// The arguments of `report` that are for rows of matches.
#[derive(Clone, Debug, Args)]
pub(crate) struct ResultArgs {
    /// Show the state of this test in each match:
    /// elo0=0,elo1=5[,alpha=0.05][,beta=0.05][,model=normalized|logistic]
    #[arg(long, value_name = "LIST")]
    pub(super) sprt: Option<String>,
}

#[derive(Serialize)]
struct MatchesReport {
    matches: Vec<MatchSummary>,
    /// The ranking of three players or more, if all can be compared.
    ranking: Option<Ranking>,
}

impl fmt::Display for MatchesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [summary] = &self.matches[..] {
            return summary.fmt(f);
        }
        matches::table(&self.matches).fmt(f)?;
        let pruning = matches::pruning_table(&self.matches);
        let tables = self.ranking.iter().map(Ranking::table).chain(pruning);
        tables.into_iter().try_for_each(|table| write!(f, "\n{table}"))
    }
}

pub(super) fn report(
    files: &[PathBuf],
    args: &ResultArgs,
    out: Option<&Path>,
    output: &mut Output,
) -> Result<ExitStatus, Failure> {
    let sprt = parse_sprt(args.sprt.as_deref())?;
    let studies = MatchStudy::read(files, sprt.as_ref())?;
    if studies.is_empty() {
        return Err(Failure::Input("no game is in these files: nothing to report".into()));
    }
    if let Some(folder) = out {
        MatchRowFiles::write_merged(files, folder)?;
    }
    let ranking = MatchStudy::ranking(&studies);
    if let Some(folder) = out {
        output.tell_page(write_page(&studies, ranking.as_ref(), files, &origins(files), folder)?);
    }
    let matches = studies.into_iter().map(|study| study.summary).collect();
    let report = MatchesReport { matches, ranking };
    output.report(&report)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SideArgs, Failure> {
        let mut common = Settings::default();
        common.search.cpuct = 2.0;
        SideArgs::parse(text, &common, "A")
    }

    #[test]
    fn options_override_the_common_ones() {
        let side = parse("TimeManager=smooth(mle-legacy(midpoint=50),x=1), nodes=7,fpu-value=.5").unwrap();
        assert_eq!(side.settings.time.time_manager, "smooth(mle-legacy(midpoint=50),x=1)");
        assert_eq!((side.settings.search.cpuct, side.settings.search.fpu_value), (2.0, 0.5));
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
        assert_eq!(parse("").unwrap().name, "A");
    }

    #[test]
    fn external_engines_have_options_of_their_own() {
        let side =
            parse("option.Move Overhead=10,cmd='/a b/sf',args=-x 1,wait=60,tc=1+0.1,option.UCI_Elo=1500")
                .unwrap();
        let external = side.external.unwrap();
        assert_eq!((external.program.as_str(), external.arguments.join("|").as_str()), ("/a b/sf", "-x|1"));
        assert_eq!(external.options[0], ("Move Overhead".to_owned(), "10".to_owned()));
        assert_eq!((external.options.len(), side.is_named), (2, false));
        let arguments = |text: &str| parse(text).unwrap().external.unwrap().arguments;
        let path = r"--weights=C:\my nets\a b.pb.gz";
        assert_eq!(arguments(&format!("cmd=x,args=-v \"{path}\"")), ["-v", path]);
        assert_eq!(arguments("cmd=x,args='one, word' --w='a b'"), ["one, word", "--w=a b"]);
    }

    #[test]
    fn faults_name_the_entry() {
        let fault = |text| parse(text).unwrap_err().to_string();
        assert_eq!(fault("CPuct"), "--a: CPuct: write Name=Value");
        assert_eq!(fault("Cpuctt=1"), "--a: Cpuctt=1: unknown option \"Cpuctt\". Did you mean CPuct?");
        assert!(fault("cmd=sf,CPuct=1").contains("option.NAME="), "{}", fault("cmd=sf,CPuct=1"));
        assert_eq!(fault("nodes=0"), "--a: nodes=0: expected a number above 0");
        assert!(fault("tc=x").contains("no time control"));
    }
}
