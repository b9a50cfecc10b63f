//! The options whose values are compared.

use thiserror::Error;

use zeitnot_engine::engine::Settings;
use zeitnot_engine::options::{OptionError, OptionSpec};
use zeitnot_engine::params::{ParamError, Params, entries};
use zeitnot_engine::time::{manager_from, spelled_out};

const TIME_MANAGER: &str = "TimeManager";
/// The option whose parameters all games of a run share.
const BACKEND_OPTIONS: &str = "BackendOptions";

/// Texts begin with the entry or name.
#[derive(Debug, Error)]
pub enum ParameterError {
    #[error(transparent)]
    Option(#[from] OptionError),
    #[error("TimeManager: {0}")]
    Manager(#[from] ParamError),
    #[error("{0}")]
    Entry(String),
}

#[derive(Clone, Debug, PartialEq)]
enum Place {
    Option,
    /// It is a parameter inside `TimeManager`: the manager at the start, and the names of its lists and of
    /// the parameter in the last of them.
    Inside {
        manager: Params,
        path: Vec<String>,
    },
    /// It is a set of entries inside `TimeManager`: the manager at the start, and the names of all entries
    /// that any of the values has.
    Entries {
        manager: Params,
        names: Vec<String>,
    },
}

/// An option with the values that are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The option's UCI name, with the path behind it inside `TimeManager`.
    pub name: String,
    option: &'static OptionSpec,
    place: Place,
    /// At least two. The others are compared with the first.
    pub(crate) values: Vec<String>,
}

impl Parameter {
    /// Parses `NAME=VALUE|VALUE,…`. `settings` are the options of the players.
    pub fn parse_list(text: &str, settings: &Settings) -> Result<Vec<Parameter>, ParameterError> {
        let mut parameters = Vec::<Parameter>::new();
        for entry in entries(text) {
            let parameter = Parameter::parse(entry, settings)?;
            if parameters.iter().any(|known| known.name == parameter.name) {
                return Err(refused(parameter.name + ": stands twice in the list"));
            }
            parameters.push(parameter);
        }
        if parameters.is_empty() {
            return Err(refused("name at least one option, as in CPuct=1.745|2"));
        }
        Ok(parameters)
    }

    /// Values of the time manager may be lists, as in `TimeManager=(mle-mlh)|(mle-legacy)`: the entries of
    /// one replace those of all.
    fn parse(entry: &str, settings: &Settings) -> Result<Parameter, ParameterError> {
        let named = entry.split_once('=').filter(|(_, values)| values.contains('|'));
        let Some((name, all)) = named else {
            return Err(refused(format!(
                "{entry}: write NAME=VALUE|VALUE, as in CPuct=1.745|2"
            )));
        };
        let values: Vec<_> = all.split('|').map(|value| value.trim().to_owned()).collect();
        let (option, path) = match name.trim().split_once('.') {
            Some((option, path)) => (Settings::spec(option)?, Some(path)),
            None => (Settings::spec(name.trim())?, None),
        };
        let (name, place) = match path {
            Some(path) => {
                let name = format!("{}.{path}", option.name);
                let place = match option.name {
                    TIME_MANAGER => inside(path, &name, settings)?,
                    BACKEND_OPTIONS => return Err(shared(&name)),
                    other => return Err(refused(format!("{name}: {other} has no parameters"))),
                };
                (name, place)
            }
            None if option.name == TIME_MANAGER && values.iter().all(|text| text.starts_with('(')) => {
                let manager = spelled_out(&settings.time.time_manager)?;
                let mut names = Vec::new();
                for value in &values {
                    names.extend(fragment(value)?.names().map(str::to_owned));
                }
                (format!("{TIME_MANAGER}={all}"), Place::Entries { manager, names })
            }
            None => (option.name.to_owned(), Place::Option),
        };
        if (1..values.len()).any(|i| values[..i].contains(&values[i])) {
            return Err(refused(format!("{name}: {all} names a value twice")));
        }
        let parameter = Parameter {
            name,
            option,
            place,
            values,
        };
        parameter.check(settings).map(|()| parameter)
    }

    fn check(&self, settings: &Settings) -> Result<(), ParameterError> {
        if Settings::is_for_sessions_only(self.option) {
            return Err(refused(format!("{}: it acts in a UCI session only", self.name)));
        }
        for value in &self.values {
            let mut changed = settings.clone();
            for (option, value) in assignments([(self, value.clone())]) {
                changed.set(option.name, &value)?;
            }
            // The engine reads the manager later.
            manager_from(&changed.time.time_manager)?;
            if changed.network != settings.network {
                return Err(shared(&self.name));
            }
        }
        Ok(())
    }

    /// The values of A and B, which differ.
    pub(crate) fn draw(&self, rng: &mut fastrand::Rng) -> (usize, usize) {
        let a = rng.usize(..self.values.len());
        (a, (a + rng.usize(1..self.values.len())) % self.values.len())
    }
}

/// Reads `(entries)`, a value of a set of entries inside the time manager.
fn fragment(text: &str) -> Result<Params, ParamError> {
    let anonymous = Params::parse(text)?;
    let list = anonymous.lists().next();
    Ok(list.map_or_else(Params::default, |(_, params)| params.clone()))
}

fn shared(name: &str) -> ParameterError {
    let cause = "is about the network or what evaluates it, which all games of a run share";
    refused(format!("{name}: {cause}; compare an option of the search"))
}

fn refused(text: impl Into<String>) -> ParameterError {
    ParameterError::Entry(text.into())
}

/// Finds the parameter `path` in the time manager of `settings`, such as `max-move-budget` or
/// `mle-mlh.scale`.
fn inside(path: &str, name: &str, settings: &Settings) -> Result<Place, ParameterError> {
    let manager = spelled_out(&settings.time.time_manager)?;
    let list = manager.lists().next().map_or("", |(name, _)| name);
    let mut steps = vec![list];
    steps.extend(path.split('.'));
    if manager.with_value_at(&steps, "0").is_none() {
        let text = "names no such list; name it in the option TimeManager";
        return Err(refused(format!("{name}: {manager} {text}")));
    }
    let path = steps.into_iter().map(str::to_owned).collect();
    Ok(Place::Inside { manager, path })
}

type Assignment = (&'static OptionSpec, String);

/// What sets parameters to these values: an option each, but one for all inside the time manager. Sets of
/// entries come first, because they may change what lists there are.
pub(crate) fn assignments<'a>(values: impl IntoIterator<Item = (&'a Parameter, String)>) -> Vec<Assignment> {
    let mut values: Vec<_> = values.into_iter().collect();
    values.sort_by_key(|(parameter, _)| !matches!(parameter.place, Place::Entries { .. }));
    let mut options = Vec::new();
    let mut changed_manager = None::<Params>;
    for (parameter, value) in values {
        let so_far = |manager| changed_manager.as_ref().unwrap_or(manager);
        let changed = match &parameter.place {
            Place::Option => {
                options.push((parameter.option, value));
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
        match options.iter_mut().find(|(option, _)| option.name == TIME_MANAGER) {
            Some((_, value)) => *value = changed.to_string(),
            None => options.push((parameter.option, changed.to_string())),
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
        let list = parse("cpuct=1.745|2, fpu-value=0.33|0.5,MinibatchSize=8|16").unwrap();
        let names: Vec<_> = list
            .iter()
            .map(|parameter| (&*parameter.name, &parameter.values[1][..]))
            .collect();
        assert_eq!(
            names,
            [("CPuct", "2"), ("FpuValue", "0.5"), ("MinibatchSize", "16")]
        );
    }

    /// The options set by the values with these indices, under `manager`.
    fn options_set(manager: &str, text: &str, indices: &[usize]) -> Vec<(&'static str, String)> {
        let mut settings = Settings::default();
        settings.set(TIME_MANAGER, manager).unwrap();
        let list = Parameter::parse_list(text, &settings).unwrap();
        let values = list
            .iter()
            .zip(indices)
            .map(|(parameter, &i)| (parameter, parameter.values[i].clone()));
        assignments(values)
            .into_iter()
            .map(|(option, value)| (option.name, value))
            .collect()
    }

    #[test]
    fn parameters_of_the_time_manager_are_set_together() {
        let text = "TimeManager.min-timeuse=0.3|0.25, CPuct=1.7|1.8, time-manager.mle-mlh.scale=1|0.9";
        assert_eq!(
            options_set("smooth(mle-mlh,min-timeuse=0.4)", text, &[1, 1, 1]),
            [
                (
                    TIME_MANAGER,
                    "smooth(mle-mlh(scale=0.9),min-timeuse=0.25)".to_owned()
                ),
                ("CPuct", "1.8".to_owned())
            ]
        );
        // What a preset stands for is written out.
        assert_eq!(
            options_set("smooth(preset=zeitnot)", "TimeManager.mle-mlh.scale=1|0.9", &[1]),
            [(
                TIME_MANAGER,
                "smooth(init-tree-reuse=0.2,init-timeuse=1,move-weight=stakes,preset=zeitnot,mle-mlh(scale=0.9))".to_owned()
            )]
        );
    }

    /// A set replaces all entries that any set names, and a parameter in a list that is gone has no effect.
    #[test]
    fn values_of_any_kind_are_compared() {
        let text = "TimeManager.mle-mlh.scale=1|0.7,FpuStrategy=reduction|absolute,TwoFoldDraws=true|false,TimeManager.init-timeuse=1|0.5,\
                    TimeManager=(mle-mlh)|(mle-legacy(midpoint=40,steepness=9))|(mle-pieces),TimeManager=()|(max-tree-reuse=0.6,min-timeuse=0.1)";
        let manager = "smooth(mle-mlh,max-tree-reuse=0.5)";
        assert_eq!(
            options_set(manager, text, &[1, 1, 1, 1, 0, 0]),
            [
                (
                    TIME_MANAGER,
                    "smooth(mle-mlh(scale=0.7),init-timeuse=0.5)".to_owned()
                ),
                ("FpuStrategy", "absolute".to_owned()),
                ("TwoFoldDraws", "false".to_owned()),
            ]
        );
        let set = options_set(manager, text, &[1, 0, 0, 0, 1, 1]);
        let expected =
            "smooth(mle-legacy(midpoint=40,steepness=9),max-tree-reuse=0.6,min-timeuse=0.1,init-timeuse=1)";
        assert_eq!(set[0], (TIME_MANAGER, expected.to_owned()));
    }

    #[test]
    fn two_sides_never_play_the_same_value() {
        let three = &parse("TimeManager=(mle-mlh)|(mle-legacy)|(mle-pieces)").unwrap()[0];
        let mut rng = fastrand::Rng::with_seed(1);
        let mut seen = [[0; 3]; 3];
        for _ in 0..600 {
            let (a, b) = three.draw(&mut rng);
            seen[a][b] += 1;
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
            ("Cpuctt=1|2", "unknown option \"Cpuctt\". Did you mean CPuct?"),
            ("CPuct=1.7", "CPuct=1.7: write NAME=VALUE|VALUE"),
            ("CPuct=1|x", "from 0 to 100"),
            ("CPuct=1|2,cpuct=1|3", "twice"),
            ("MinibatchSize=8|8.5", "\"8.5\" is not an integer"),
            ("Threads=1|2", "all games of a run share"),
            (
                "backend-opts.threads=2|1",
                "BackendOptions.threads: is about the network",
            ),
            ("TimeManager.min-timeus=1|2", "min-timeus"),
            ("TimeManager.mle-legacy.midpoint=50|60", "names no such list"),
            (
                "FpuStrategy=reduction|absolut",
                "\"absolut\" is not one of reduction, absolute",
            ),
            ("CPuct=1|1", "names a value twice"),
            ("CPuct=1|200", "from 0 to 100"),
            ("CPuct.x=1|2", "CPuct has no parameters"),
            ("MultiPV=1|2", "acts in a UCI session only"),
            (
                "TimeManager=(mle-mlh)|(mle-legacie)",
                "unknown parameter of smooth \"mle-legacie\"",
            ),
            ("TimeManager=(mle-mlh)|(mle-legacy", "a ')' is missing"),
        ] {
            let fault = parse(text).unwrap_err().to_string();
            assert!(fault.contains(expected), "{text}: {fault}");
        }
    }
}
