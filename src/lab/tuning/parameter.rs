//! The parameters that are tuned: numeric options with a start value, a perturbation and bounds.

use thiserror::Error;

use crate::engine::Settings;
use crate::options::{OptionError, OptionKind, OptionSpec};
use crate::params::{ParamError, Params};
use crate::time::number_at;

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
pub(crate) enum ParameterError {
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

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parameter {
    /// The option's UCI name, with the path behind it for a number inside `TimeManager`.
    pub(crate) name: String,
    option: &'static OptionSpec,
    /// For a number inside `TimeManager`: the manager at the start, and the names of its lists and of the parameter in the last of them.
    place: Option<(Params, Vec<String>)>,
    pub(crate) start: f64,
    /// c_end, the perturbation at the end of the run.
    pub(crate) step: f64,
    min: f64,
    max: f64,
    /// True if only whole numbers can be played.
    is_integer: bool,
}

impl Parameter {
    /// Parses `NAME=START:STEP[:MIN:MAX],…`; `settings` are the options of the players.
    pub(crate) fn parse_list(text: &str, settings: &Settings) -> Result<Vec<Parameter>, ParameterError> {
        let mut parameters = Vec::<Parameter>::new();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
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
            let expected = "write NAME=START:STEP or NAME=START:STEP:MIN:MAX, as in CPuct=1.745:0.2";
            ParameterError::Entry(format!("{entry}: {expected}"))
        };
        let (name, numbers) = entry.split_once('=').ok_or_else(grammar)?;
        let (option, path) = match name.trim().split_once('.') {
            Some((option, path)) => (Settings::spec(option)?, Some(path)),
            None => (Settings::spec(name.trim())?, None),
        };
        let not_numeric = || {
            ParameterError::Entry(format!(
                "{}: takes {}; only options that take numbers can be tuned (`zeitnot options` lists them), and numbers \
                 inside a time manager, as in TimeManager.max-move-budget=0.3:0.05",
                option.name,
                option.expected()
            ))
        };
        let (mut name, mut place) = (option.name.to_owned(), None);
        let kind = match path {
            Some(path) if option.name == TIME_MANAGER => {
                let (found, kind) = place_in_manager(path, settings)?;
                (name, place) = (format!("{TIME_MANAGER}.{path}"), Some(found));
                kind
            }
            Some(path) if option.name == BACKEND_OPTIONS => {
                return Err(shared(&format!("{BACKEND_OPTIONS}.{path}")));
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
        let numbers: Option<Vec<f64>> = numbers.split(':').map(number).collect();
        let (start, step, min, max) = match numbers.as_deref() {
            Some(&[start, step]) => (start, step, low, high),
            Some(&[start, step, min, max]) => (start, step, min, max),
            _ => return Err(grammar()),
        };
        let parameter = Parameter { name, option, place, start, step, min, max, is_integer };
        match parameter.fault(low, high) {
            Some(fault) => Err(ParameterError::Entry(format!("{}: {fault}", parameter.name))),
            None => parameter.check(settings).map(|()| parameter),
        }
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

    /// Checks that the bounds can be set, and that players can differ in the option.
    fn check(&self, settings: &Settings) -> Result<(), ParameterError> {
        for value in [self.min, self.max] {
            let mut changed = settings.clone();
            for Assignment { option, value } in assignments([(self, self.text(value))]) {
                changed.set(option.name, &value)?;
            }
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

    pub(crate) fn clamp(&self, value: f64) -> f64 {
        value.clamp(self.min, self.max)
    }

    /// Returns a value that can be played near `value`: with a few digits below the perturbation, within the bounds. Integers
    /// are rounded down or up by a `chance` from 0 to 1, so that their mean is `value`, as in OpenBench.
    pub(crate) fn playable(&self, value: f64, chance: f64) -> f64 {
        let unit = 10_f64.powi(self.decimals());
        let rounded = if self.is_integer { (value + chance).floor() } else { (value * unit).round() / unit };
        self.clamp(rounded)
    }

    pub(crate) fn text(&self, value: f64) -> String {
        format!("{value:.*}", self.decimals().max(0) as usize)
    }

    fn decimals(&self) -> i32 {
        if self.is_integer { 0 } else { (DIGITS - self.step.log10().floor() as i32).clamp(0, 12) }
    }
}

/// Returns the error for what all games have in common.
fn shared(name: &str) -> ParameterError {
    let cause = "is about the network or what evaluates it, which all games of a run share";
    ParameterError::Entry(format!("{name}: {cause}; tune an option of the search"))
}

/// Returns the place of the number at `path` in the time manager of `settings`, such as `max-move-budget` or `mle-mlh.scale`, and
/// the values that it takes.
fn place_in_manager(
    path: &str,
    settings: &Settings,
) -> Result<((Params, Vec<String>), OptionKind), ParameterError> {
    let text = settings.time.time_manager.as_str();
    let manager = Params::parse(text)?;
    let name = manager.lists().next().map_or("", |(name, _)| name);
    let steps: Vec<_> = std::iter::once(name).chain(path.split('.')).collect();
    let number = number_at(&steps)?;
    if manager.with_value_at(&steps, "0").is_none() {
        let remedy = "names no such list; name it in the option TimeManager";
        return Err(ParameterError::Entry(format!("TimeManager.{path}: {text} {remedy}")));
    }
    let path = steps.iter().map(|step| (*step).to_owned()).collect();
    Ok(((manager, path), number.kind))
}

#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub(crate) option: &'static OptionSpec,
    pub(crate) value: String,
}

/// Returns what sets parameters to these values: an option each, but only one for all numbers inside the time manager.
pub(crate) fn assignments<'a>(values: impl IntoIterator<Item = (&'a Parameter, String)>) -> Vec<Assignment> {
    let mut options = Vec::new();
    let mut changed_manager = None::<Params>;
    for (parameter, value) in values {
        match &parameter.place {
            None => options.push(Assignment { option: parameter.option, value }),
            Some((manager, path)) => {
                let path: Vec<_> = path.iter().map(String::as_str).collect();
                let so_far = changed_manager.as_ref().unwrap_or(manager);
                let Some(changed) = so_far.with_value_at(&path, &value) else { continue };
                match options.iter_mut().find(|assignment| assignment.option.name == TIME_MANAGER) {
                    Some(known) => known.value = changed.to_string(),
                    None => options.push(Assignment { option: parameter.option, value: changed.to_string() }),
                }
                changed_manager = Some(changed);
            }
        }
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

    /// Returns the options that are set by `values` of the parameters of `text`, with `manager` as time manager.
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
        // Whole numbers stay whole, and names are those of the manager.
        assert_eq!(
            options_set("stockfish", "TimeManager.emergency-move-horizon=40:5", &[41.0]),
            [(TIME_MANAGER, "stockfish(emergency-move-horizon=41)".to_owned())]
        );
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
