//! The backends: everything that can evaluate a batch of positions, one folder or file each.
//!
//! [`create`] turns a name and its options, as the user gave them, into a [`Backend`]. Engine and tools call it;
//! the search only ever sees the trait. A backend may use the rest of `network`, and no other backend.
//!
//! | name | what |
//! |---|---|
//! | `trivial` | material and a uniform policy, no network ([`synthetic::trivial`]) |
//! | `random` | numbers drawn from a hash of the position ([`synthetic::random`]) |
//! | `simulated` | `random` at the pace of an accelerator ([`synthetic::simulated`]) |

pub mod native;
pub mod onnxruntime;
pub mod synthetic;

use std::path::PathBuf;
use std::sync::Arc;

use super::{Backend, BackendError};
use crate::params::{ParamError, Params};

/// The names that [`create`] knows, in the order in which help texts list them.
pub const NAMES: [&str; 3] = ["trivial", "random", "simulated"];

/// Which backend the user wants, and how.
#[derive(Clone, Debug, Default)]
pub struct BackendConfig {
    /// One of [`NAMES`].
    pub name: String,
    /// The backend's own parameters.
    pub options: Params,
    /// The network file; synthetic backends need none.
    pub weights: Option<PathBuf>,
    /// The policy head of a network that has several: `vanilla`, `optimistic`, `soft`, `opponent`.
    pub policy_head: String,
    /// The value head of a network that has several: `winner`, `q`, `st`.
    pub value_head: String,
}

impl BackendConfig {
    /// A configuration without a network, from the texts of `--backend` and `--backend-opts`.
    ///
    /// The parameters may also stand behind the name, as in `simulated(latency-us=500)`; `options` then override them.
    ///
    /// # Errors
    /// [`BackendError::Params`] if a text is not of the grammar or `backend` is not one name.
    pub fn parse(backend: &str, options: &str) -> Result<BackendConfig, BackendError> {
        let named = Params::parse(backend)?;
        let mut lists = named.lists();
        let (Some((name, inline)), 1) = (lists.next(), named.entries().len()) else {
            return Err(unknown_name(backend).into());
        };
        let joined = format!("{inline},{options}");
        let options = if inline.is_empty() { Params::parse(options)? } else { Params::parse(&joined)? };
        Ok(BackendConfig {
            name: name.into(),
            options,
            weights: None,
            policy_head: DEFAULT_POLICY_HEAD.into(),
            value_head: DEFAULT_VALUE_HEAD.into(),
        })
    }
}

/// The policy head that is used unless the user asks for another.
pub const DEFAULT_POLICY_HEAD: &str = "vanilla";
/// The value head that is used unless the user asks for another.
pub const DEFAULT_VALUE_HEAD: &str = "winner";

/// Makes the backend that `config` asks for.
///
/// # Errors
/// If the name or an option is unknown or out of range, naming what would be valid.
pub fn create(config: &BackendConfig) -> Result<Arc<dyn Backend>, BackendError> {
    let options = &config.options;
    Ok(match config.name.as_str() {
        "trivial" => Arc::new(synthetic::trivial::Trivial::new(options)?),
        "random" => Arc::new(synthetic::random::Random::new(options)?),
        "simulated" => Arc::new(synthetic::simulated::Simulated::new(options)?),
        name => return Err(unknown_name(name).into()),
    })
}

fn unknown_name(name: &str) -> ParamError {
    ParamError::Unknown { kind: "backend".into(), name: name.into(), valid: NAMES.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(backend: &str, options: &str) -> String {
        match BackendConfig::parse(backend, options).and_then(|config| create(&config)) {
            Ok(backend) => panic!("{backend:?} was made"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn every_listed_synthetic_name_makes_a_backend_of_that_name() {
        for name in ["trivial", "random", "simulated"] {
            let backend = create(&BackendConfig::parse(name, "").unwrap()).unwrap();
            assert_eq!(backend.info().name, name);
        }
    }

    #[test]
    fn unknown_names_and_options_are_refused_with_what_is_valid() {
        let valid = NAMES.join(", ");
        assert_eq!(fault("cudnn", ""), format!("unknown backend \"cudnn\"; valid: {valid}"));
        assert_eq!(fault("", ""), format!("unknown backend \"\"; valid: {valid}"));
        assert_eq!(
            fault("random,trivial", ""),
            format!("unknown backend \"random,trivial\"; valid: {valid}")
        );
        assert_eq!(fault("random", "sed=1"), "unknown parameter of random \"sed\"; valid: seed");
        assert_eq!(fault("trivial", "x"), "trivial has no parameters, but got \"x\"");
        assert_eq!(fault("simulated", "max-batch=0"), "max-batch=0: expected an integer from 1 to 65536");
    }

    #[test]
    fn parameters_may_stand_behind_the_name() {
        let config = BackendConfig::parse("simulated(max-batch=8,latency-us=1)", "latency-us=2").unwrap();
        assert_eq!(config.name, "simulated");
        assert_eq!(config.options.get("max-batch"), Some("8"));
        assert_eq!(config.options.get("latency-us"), Some("2"));
    }
}
