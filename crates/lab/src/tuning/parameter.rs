//! The parameters that are tuned: numeric options with a start value, a perturbation and bounds. What has no
//! numbers, or two of them that matter, is compared: words, switches, and sets of entries inside the time
//! manager.

use thiserror::Error;

use zeitnot_engine::engine::Settings;
pub use zeitnot_engine::options::OptionSpec;
use zeitnot_engine::options::{OptionError, OptionKind};
use zeitnot_engine::params::{ParamError, Params};
use zeitnot_engine::time::{manager_from, number_at, spelled_out};

/// The option whose parameter list may be tuned.
const TIME_MANAGER: &str = "TimeManager";
/// The option whose parameters all games of a run share.
const BACKEND_OPTIONS: &str = "BackendOptions";

/// Smallest perturbation of an integer, as in OpenBench: less would seldom make a difference.
const LEAST_INTEGER_STEP: f64 = 0.5;
/// Digits of a value below its perturbation.
const DIGITS: i32 = 3;

/// The reason why an option cannot be tuned as the user asked. Texts begin with the entry or name.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ParameterError {
    /// The option is unknown or refuses a value.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// There is no such number in the time manager.
    #[error("TimeManager: {0}")]
    Manager(#[from] ParamError),
    /// The text says what is wrong with the entry, or with its numbers.
    #[error("{0}")]
    Entry(String),
}

/// Where a parameter is set.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    /// It is an option as a whole.
    Option,
    /// It is a parameter inside `TimeManager`: the manager at the start, and the names of its lists and of
    /// the parameter in the last of them.
    Inside { manager: Params, path: Vec<String> },
    /// It is a set of entries inside `TimeManager`: the manager at the start, and the names of all entries
    /// that any of the values has.
    Entries { manager: Params, names: Vec<String> },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The option's UCI name, with the path behind it inside `TimeManager`.
    pub name: String,
    option: &'static OptionSpec,
    place: Place,
    /// The values that are compared, instead of a number that moves, empty for numbers. The number is the
    /// index of one of them then.
    pub choices: Vec<String>,
    pub(crate) start: f64,
    /// c_end, the perturbation at the end of the run.
    pub(crate) step: f64,
    min: f64,
    max: f64,
    /// True if only whole numbers can be played.
    is_integer: bool,
}

impl Parameter {
    /// Parses `NAME=START:STEP[:MIN:MAX],NAME=VALUE|VALUE,…`. `settings` are the options of the players.
    pub fn parse_list(text: &str, settings: &Settings) -> Result<Vec<Parameter>, ParameterError> {
        let mut parameters = Vec::<Parameter>::new();
        for entry in entries(text) {
            let parameter = Parameter::parse(entry, settings)?;
            if parameters.iter().any(|known| known.name == parameter.name) {
                let text = format!("{}: stands twice in the list", parameter.name);
                return Err(ParameterError::Entry(text));
            }
            parameters.push(parameter);
        }
        if parameters.is_empty() {
            let text = "name at least one option, as in CPuct=1.745:0.2";
            return Err(ParameterError::Entry(text.into()));
        }
        Ok(parameters)
    }

    fn parse(entry: &str, settings: &Settings) -> Result<Parameter, ParameterError> {
        let grammar = || {
            let expected = "write NAME=START:STEP or NAME=START:STEP:MIN:MAX, as in CPuct=1.745:0.2, or NAME=VALUE|VALUE";
            ParameterError::Entry(format!("{entry}: {expected}"))
        };
        let (name, values) = entry.split_once('=').ok_or_else(grammar)?;
        let (option, path) = match name.trim().split_once('.') {
            Some((option, path)) => (Settings::spec(option)?, Some(path)),
            None => (Settings::spec(name.trim())?, None),
        };
        if path.is_some() && option.name == BACKEND_OPTIONS {
            return Err(shared(&format!("{BACKEND_OPTIONS}.{}", path.unwrap_or_default())));
        }
        if values.contains('|') {
            let choices = values.split('|').map(|value| value.trim().to_owned()).collect();
            return Parameter::of_choices(option, path, choices, settings);
        }
        let not_numeric = || {
            ParameterError::Entry(format!(
                "{}: takes {}; only options that take numbers can be tuned (`zeitnot options` lists them), and numbers \
                 inside a time manager, as in TimeManager.max-move-budget=0.3:0.05. Others can be compared: NAME=VALUE|VALUE",
                option.name,
                option.expected()
            ))
        };
        let (mut name, mut place) = (option.name.to_owned(), Place::Option);
        let kind = match path {
            Some(path) if option.name == TIME_MANAGER => {
                let (manager, steps) = path_in_manager(path, settings)?;
                let number = number_at(&steps.iter().map(String::as_str).collect::<Vec<_>>())?;
                name = format!("{TIME_MANAGER}.{path}");
                place = inside(manager, steps, &name)?;
                number.kind
            }
            Some(_) => return Err(not_numeric()),
            None => option.kind.clone(),
        };
        let (low, high, is_integer) = match kind {
            OptionKind::Integer { min, max, .. } => (min as f64, max as f64, true),
            OptionKind::Decimal { min, max, .. } => (min, max, false),
            _ => return Err(not_numeric()),
        };
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        let numbers: Option<Vec<f64>> = values.split(':').map(number).collect();
        let (start, step, min, max) = match numbers.as_deref() {
            Some(&[start, step]) => (start, step, low, high),
            Some(&[start, step, min, max]) => (start, step, min, max),
            _ => return Err(grammar()),
        };
        let choices = Vec::new();
        let parameter = Parameter { name, option, place, choices, start, step, min, max, is_integer };
        match parameter.fault(low, high) {
            Some(fault) => Err(ParameterError::Entry(format!("{}: {fault}", parameter.name))),
            None => parameter.check(settings).map(|()| parameter),
        }
    }

    /// Makes a parameter whose values are compared. Of the time manager these may be lists, as in
    /// `TimeManager=(mle-mlh)|(mle-legacy)`: the entries of the one that is played take the place of those of
    /// all of them.
    fn of_choices(
        option: &'static OptionSpec,
        path: Option<&str>,
        choices: Vec<String>,
        settings: &Settings,
    ) -> Result<Parameter, ParameterError> {
        let all = choices.join("|");
        let (name, place) = match path {
            Some(path) if option.name == TIME_MANAGER => {
                let name = format!("{TIME_MANAGER}.{path}");
                let (manager, steps) = path_in_manager(path, settings)?;
                let place = inside(manager, steps, &name)?;
                (name, place)
            }
            Some(path) => {
                let text = format!("{}.{path}: {} has no parameters", option.name, option.name);
                return Err(ParameterError::Entry(text));
            }
            None if option.name == TIME_MANAGER && choices.iter().all(|text| text.starts_with('(')) => {
                let manager = spelled_out(settings.time.time_manager.as_str())?;
                let mut names = Vec::new();
                for choice in &choices {
                    names.extend(fragment(choice)?.names().map(str::to_owned));
                }
                (format!("{TIME_MANAGER}={all}"), Place::Entries { manager, names })
            }
            None => (option.name.to_owned(), Place::Option),
        };
        let is_repeated = (1..choices.len()).any(|i| choices[..i].contains(&choices[i]));
        if is_repeated {
            return Err(ParameterError::Entry(format!("{name}: {all} names a value twice")));
        }
        let max = (choices.len() - 1) as f64;
        let parameter = Parameter {
            name,
            option,
            place,
            choices,
            start: 0.0,
            step: 1.0,
            min: 0.0,
            max,
            is_integer: true,
        };
        parameter.check(settings).map(|()| parameter)
    }

    /// Returns what is wrong with the numbers, which must be in the range of the option, `low` to `high`.
    fn fault(&self, low: f64, high: f64) -> Option<String> {
        let &Parameter { ref name, start, step, min, max, .. } = self;
        let fraction = [start, min, max].into_iter().find(|number| self.is_integer && number.fract() != 0.0);
        if let Some(number) = fraction {
            return Some(format!("takes whole numbers; {number} has a fraction"));
        }
        if !(low <= min && min < max && max <= high) {
            let range = format!("must lie in the option's range, {low} to {high}, the lower one first");
            return Some(format!("the bounds {min} and {max} {range}"));
        }
        if !(min..=max).contains(&start) {
            let remedy = format!("choose one inside, or other bounds: {name}=START:STEP:MIN:MAX");
            return Some(format!("the start {start} lies outside {min} to {max}; {remedy}"));
        }
        let is_useful = 0.0 < step && step < max - min;
        let useless =
            || format!("the step {step} must be above 0 and smaller than the range from {min} to {max}");
        (!is_useful).then(useless)
    }

    /// Checks that the bounds, or all choices, can be set, and that players can differ in the option.
    fn check(&self, settings: &Settings) -> Result<(), ParameterError> {
        if Settings::is_for_sessions_only(self.option) {
            return Err(ParameterError::Entry(format!("{}: it acts in a UCI session only", self.name)));
        }
        let bounds = [self.text(self.min), self.text(self.max)];
        for value in if self.choices.is_empty() { &bounds[..] } else { &self.choices } {
            let mut changed = settings.clone();
            for Assignment { option, value } in assignments([(self, value.clone())]) {
                changed.set(option.name, &value)?;
            }
            // The engine reads the manager later.
            manager_from(changed.time.time_manager.as_str())?;
            if changed.network != settings.network {
                return Err(shared(&self.name));
            }
        }
        Ok(())
    }

    /// Returns c_k where `share` is c_k / c_end.
    pub(crate) fn perturbation(&self, share: f64) -> f64 {
        let perturbation = self.step * share;
        if self.is_integer { perturbation.max(LEAST_INTEGER_STEP) } else { perturbation }
    }

    /// Returns the values that A and B play near `value`, and +1 if A has the higher one, else −1.
    pub(crate) fn probe(&self, value: f64, share: f64, rng: &mut fastrand::Rng) -> (i8, [f64; 2]) {
        if !self.choices.is_empty() {
            let a = rng.usize(..self.choices.len());
            let b = (a + rng.usize(1..self.choices.len())) % self.choices.len();
            return (if a > b { 1 } else { -1 }, [a as f64, b as f64]);
        }
        let sign = if rng.bool() { 1_i8 } else { -1 };
        let (offset, chance) = (f64::from(sign) * self.perturbation(share), rng.f64());
        (sign, [self.playable(value + offset, chance), self.playable(value - offset, chance)])
    }

    pub(crate) fn clamp(&self, value: f64) -> f64 {
        value.clamp(self.min, self.max)
    }

    /// Returns a value that can be played near `value`: with a few digits below the perturbation, within the
    /// bounds. Integers are rounded down or up by a `chance` from 0 to 1, so that their mean is `value`, as
    /// in OpenBench.
    pub(crate) fn playable(&self, value: f64, chance: f64) -> f64 {
        let unit = 10_f64.powi(self.decimals());
        let rounded = if self.is_integer { (value + chance).floor() } else { (value * unit).round() / unit };
        self.clamp(rounded)
    }

    pub fn text(&self, value: f64) -> String {
        match self.choices.get(value as usize) {
            Some(choice) => choice.clone(),
            None => format!("{value:.*}", self.decimals().max(0) as usize),
        }
    }

    fn decimals(&self) -> i32 {
        if self.is_integer { 0 } else { (DIGITS - self.step.log10().floor() as i32).clamp(0, 12) }
    }
}

/// Returns the entries of a list, which commas outside parentheses separate.
fn entries(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    let separates = move |c: char| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        c == ',' && depth <= 0
    };
    text.split(separates).map(str::trim).filter(|entry| !entry.is_empty())
}

/// Reads `(entries)`, a value of a set of entries inside the time manager.
fn fragment(text: &str) -> Result<Params, ParamError> {
    let anonymous = Params::parse(text)?;
    Ok(anonymous.lists().next().map_or_else(Params::default, |(_, params)| params.clone()))
}

fn shared(name: &str) -> ParameterError {
    let cause = "is about the network or what evaluates it, which all games of a run share";
    ParameterError::Entry(format!("{name}: {cause}; tune an option of the search"))
}

/// Returns the time manager of `settings` with the names of the lists and the parameter that `path` has in
/// it, such as `max-move-budget` or `mle-mlh.scale`.
fn path_in_manager(path: &str, settings: &Settings) -> Result<(Params, Vec<String>), ParameterError> {
    let manager = spelled_out(settings.time.time_manager.as_str())?;
    let name = manager.lists().next().map_or("", |(name, _)| name);
    let steps = std::iter::once(name).chain(path.split('.')).map(str::to_owned).collect();
    Ok((manager, steps))
}

fn inside(manager: Params, path: Vec<String>, name: &str) -> Result<Place, ParameterError> {
    let steps: Vec<_> = path.iter().map(String::as_str).collect();
    if manager.with_value_at(&steps, "0").is_none() {
        let remedy = "names no such list; name it in the option TimeManager";
        return Err(ParameterError::Entry(format!("{name}: {manager} {remedy}")));
    }
    Ok(Place::Inside { manager, path })
}

#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub(crate) option: &'static OptionSpec,
    pub(crate) value: String,
}

/// Returns what sets parameters to these values: an option each, but only one for all that is inside the time
/// manager. Sets of entries come first, because they may change what lists there are.
pub(crate) fn assignments<'a>(values: impl IntoIterator<Item = (&'a Parameter, String)>) -> Vec<Assignment> {
    let mut values: Vec<_> = values.into_iter().collect();
    values.sort_by_key(|(parameter, _)| !matches!(parameter.place, Place::Entries { .. }));
    let mut options = Vec::new();
    let mut changed_manager = None::<Params>;
    for (parameter, value) in values {
        let so_far = |manager| changed_manager.as_ref().unwrap_or(manager);
        let changed = match &parameter.place {
            Place::Option => {
                options.push(Assignment { option: parameter.option, value });
                continue;
            }
            Place::Inside { manager, path } => {
                let path: Vec<_> = path.iter().map(String::as_str).collect();
                so_far(manager).with_value_at(&path, &value)
            }
            Place::Entries { manager, names } => fragment(&value).ok().and_then(|new| {
                let name = manager.lists().next().map_or("", |(name, _)| name);
                so_far(manager).with_list(name, |list| Some(list.replacing(names, &new)))
            }),
        };
        let Some(changed) = changed else { continue };
        match options.iter_mut().find(|assignment| assignment.option.name == TIME_MANAGER) {
            Some(known) => known.value = changed.to_string(),
            None => options.push(Assignment { option: parameter.option, value: changed.to_string() }),
        }
        changed_manager = Some(changed);
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<Parameter>, ParameterError> {
        Parameter::parse_list(text, &Settings::default())
    }

    #[test]
    fn a_list_names_options_by_name_or_flag() {
        let list = parse("cpuct=1.745:0.2, fpu-value=0.33:0.05:-1:1,MinibatchSize=8:2:1:64").unwrap();
        let names: Vec<_> =
            list.iter().map(|parameter| (parameter.name.as_str(), parameter.option.flag)).collect();
        assert_eq!(
            names,
            [("CPuct", "cpuct"), ("FpuValue", "fpu-value"), ("MinibatchSize", "minibatch-size")]
        );
        assert_eq!((list[0].min, list[0].max, list[0].is_integer), (0.0, 100.0, false));
        assert_eq!((list[1].start, list[1].step, list[1].min, list[1].max), (0.33, 0.05, -1.0, 1.0));
        assert!(list[2].is_integer);
    }

    /// Returns the options that are set by `values` of the parameters of `text`, with `manager` as time
    /// manager.
    fn options_set(manager: &str, text: &str, values: &[f64]) -> Vec<(&'static str, String)> {
        let mut settings = Settings::default();
        settings.set(TIME_MANAGER, manager).unwrap();
        let list = Parameter::parse_list(text, &settings).unwrap();
        let texts = list.iter().zip(values).map(|(parameter, &value)| (parameter, parameter.text(value)));
        assignments(texts).into_iter().map(|Assignment { option, value }| (option.name, value)).collect()
    }

    #[test]
    fn numbers_inside_the_time_manager_are_set_together() {
        let text = "TimeManager.min-timeuse=0.3:0.1, CPuct=1.7:0.1, time-manager.mle-mlh.scale=1:0.1";
        assert_eq!(
            options_set("smooth(mle-mlh,min-timeuse=0.4)", text, &[0.25, 1.8, 0.9]),
            [
                (TIME_MANAGER, "smooth(mle-mlh(scale=0.9000),min-timeuse=0.2500)".to_owned()),
                ("CPuct", "1.8000".to_owned())
            ]
        );
        // What a preset stands for is written out.
        assert_eq!(
            options_set("smooth(preset=zeitnot)", "TimeManager.mle-mlh.scale=1:0.1", &[0.9]),
            [(
                TIME_MANAGER,
                "smooth(init-tree-reuse=0.2,init-timeuse=1,move-weight=stakes,preset=zeitnot,mle-mlh(scale=0.9000))".to_owned()
            )]
        );
        // Whole numbers stay whole, and names are those of the manager.
        assert_eq!(
            options_set("stockfish", "TimeManager.emergency-move-horizon=40:5", &[41.0]),
            [(TIME_MANAGER, "stockfish(emergency-move-horizon=41)".to_owned())]
        );
    }

    /// Words, switches, numbers and sets of entries are compared. A set takes the place of all entries that
    /// any set names, and a parameter in a list that is gone has no effect.
    #[test]
    fn values_of_any_kind_are_compared() {
        let text = "TimeManager.mle-mlh.scale=1|0.7,FpuStrategy=reduction|absolute,TwoFoldDraws=true|false,TimeManager.target=tree|bestmove,\
                    TimeManager=(mle-mlh)|(mle-legacy(midpoint=40,steepness=9))|(mle-pieces),TimeManager=()|(max-tree-reuse=0.6,min-timeuse=0.1)";
        let manager = "smooth(mle-mlh,max-tree-reuse=0.5)";
        assert_eq!(
            options_set(manager, text, &[1.0, 1.0, 1.0, 1.0, 0.0, 0.0]),
            [
                (TIME_MANAGER, "smooth(mle-mlh(scale=0.7),target=bestmove)".to_owned()),
                ("FpuStrategy", "absolute".to_owned()),
                ("TwoFoldDraws", "false".to_owned()),
            ]
        );
        let set = options_set(manager, text, &[1.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
        let expected =
            "smooth(mle-legacy(midpoint=40,steepness=9),max-tree-reuse=0.6,min-timeuse=0.1,target=tree)";
        assert_eq!(set[0], (TIME_MANAGER, expected.to_owned()));
        let mut settings = Settings::default();
        settings.set(TIME_MANAGER, manager).unwrap();
        let list = Parameter::parse_list(text, &settings).unwrap();
        let names: Vec<_> = list.iter().skip(3).map(|parameter| parameter.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "TimeManager.target",
                "TimeManager=(mle-mlh)|(mle-legacy(midpoint=40,steepness=9))|(mle-pieces)",
                "TimeManager=()|(max-tree-reuse=0.6,min-timeuse=0.1)"
            ]
        );
    }

    #[test]
    fn two_sides_never_play_the_same_choice() {
        let three = &parse("TimeManager=(mle-mlh)|(mle-legacy)|(mle-pieces)").unwrap()[0];
        let mut rng = fastrand::Rng::with_seed(1);
        let mut seen = [[0; 3]; 3];
        for _ in 0..600 {
            let (sign, [a, b]) = three.probe(0.0, 1.0, &mut rng);
            assert_eq!(sign > 0, a > b);
            seen[a as usize][b as usize] += 1;
        }
        for (a, row) in seen.iter().enumerate() {
            for (b, &count) in row.iter().enumerate() {
                assert!(if a == b { count == 0 } else { count > 50 }, "{seen:?}");
            }
        }
    }

    #[test]
    fn faults_name_the_cause_and_the_remedy() {
        for (text, expected) in [
            (" , ", "at least one option"),
            ("Cpuctt=1:1", "unknown option \"Cpuctt\". Did you mean CPuct?"),
            ("CPuct=1.7", "write NAME=START:STEP"),
            ("CPuct=1.7:x", "CPuct=1.7:x: write"),
            ("CPuct=NaN:1", "write NAME"),
            ("CPuct.x=1:1", "CPuct: takes"),
            ("FpuStrategy=1:1", "one of reduction, absolute; only options that take numbers"),
            ("CPuct=200:1", "the start 200 lies outside 0 to 100"),
            ("CPuct=5:1:0:4", "the start 5 lies outside 0 to 4"),
            ("CPuct=5:1:-1:9", "the option's range, 0 to 100"),
            ("CPuct=5:0", "must be above 0"),
            ("CPuct=1:1,cpuct=1:1", "twice"),
            // A regression: the command that a run proposes was refused then.
            ("MinibatchSize=8.5:2", "MinibatchSize: takes whole numbers; "),
            ("MinibatchSize=8:2:1.5:64", "MinibatchSize: takes whole numbers; "),
            ("MinibatchSize=8:2:1:63.5", "MinibatchSize: takes whole numbers; "),
            ("Threads=2:1", "all games of a run share"),
            ("backend-opts.threads=2:1", "BackendOptions.threads: is about the network"),
            ("TimeManager.min-timeuse=.3:.1,time-manager.min-timeuse=.3:.1", "twice"),
            ("TimeManager.min-timeus=1:1", "unknown number of smooth \"min-timeus\". Valid: init-tree-reuse"),
            ("TimeManager.mle-legacy.midpoint=50:5", "names no such list"),
            ("TimeManager.min-timeuse=3:1", "the start 3 lies outside 0.01 to 1"),
            ("TimeManager=1:1", "TimeManager.max-move-budget=0.3:0.05"),
            ("FpuStrategy=reduction|absolut", "\"absolut\" is not one of reduction, absolute"),
            ("CPuct=1|1", "names a value twice"),
            ("CPuct=1|200", "from 0 to 100"),
            ("CPuct.x=1|2", "CPuct has no parameters"),
            ("Threads=1|2", "all games of a run share"),
            ("MultiPV=1|2", "acts in a UCI session only"),
            ("TimeManager.target=tree|king", "target=king: expected one of tree, bestmove"),
            ("TimeManager.mle-legacy.midpoint=50|60", "names no such list"),
            ("TimeManager=(mle-mlh)|(mle-legacie)", "unknown parameter of smooth \"mle-legacie\""),
            ("TimeManager=(mle-mlh)|(mle-legacy", "a ')' is missing"),
        ] {
            let fault = parse(text).unwrap_err().to_string();
            assert!(fault.contains(expected), "{text}: {fault}");
        }
    }

    #[test]
    fn values_have_a_few_digits_below_the_perturbation() {
        let list = parse("CPuct=1.745:0.2,CPuctBase=38739:9000,FpuValue=0.33:0.05").unwrap();
        let texts: Vec<_> =
            list.iter().map(|parameter| parameter.text(parameter.playable(0.123_456_789, 0.5))).collect();
        assert_eq!(texts, ["0.1235", "1", "0.12346"], "the base is at least 1");
        assert_eq!(list[1].text(38_739.4), "38739");
    }

    #[test]
    fn integers_keep_their_mean() {
        let size = &parse("MinibatchSize=8:0.1:1:64").unwrap()[0];
        let sum: f64 = (0..1000).map(|i| size.playable(8.3, f64::from(i) / 1000.0)).sum();
        assert!((sum / 1000.0 - 8.3).abs() < 0.002, "{sum}");
        assert_eq!(size.perturbation(1.0), 0.5);
        assert_eq!((size.playable(64.7, 0.9), size.text(8.0).as_str()), (64.0, "8"));
    }
}
