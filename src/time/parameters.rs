//! How time managers and moves-left estimators are registered: by a name, a line for the documentation and their parameters.

use crate::options::{OptionGroup, OptionSpec, option_choice};
use crate::params::{ParamError, Params};

option_choice! {
    /// The origin of the values that the other parameters of `smooth` have where they are not given.
    pub(crate) enum Preset {
        /// The values that Lc0's pull request 1195 documents.
        Pr1195 = "pr1195",
        /// The values of today's Lc0, with its reserve of time.
        Lc0 = "lc0",
    }
}

impl Preset {
    /// Makes a group of parameters with these values.
    pub(in crate::time) fn values<G: OptionGroup>(self) -> G {
        match self {
            Preset::Pr1195 => G::default(),
            Preset::Lc0 => G::lc0(),
        }
    }
}

/// A manager or an estimator that a parameter list can name.
pub(crate) trait Named: Sized {
    const NAME: &'static str;
    /// What it does, in one line for the documentation.
    const SUMMARY: &'static str;
    type Params: OptionGroup;

    fn new(params: Self::Params) -> Self;

    /// Makes it from a parameter list. What the list does not name has the values of `preset`.
    ///
    /// # Errors
    /// Returns a [`ParamError`] for unknown parameters and for values out of range; it names what is valid.
    fn from_list(list: &Params, preset: Preset) -> Result<Self, ParamError> {
        preset.values::<Self::Params>().read(Self::NAME, list, &[]).map(Self::new)
    }
}

/// An entry of the table of managers, or of estimators.
#[derive(Clone, Copy, Debug)]
pub struct Registered<T> {
    /// The name.
    pub name: &'static str,
    /// What it does, in one line for the documentation.
    pub summary: &'static str,
    /// Describes its parameters.
    pub parameters: fn() -> Vec<OptionSpec>,
    pub(in crate::time) create: fn(&Params, Preset) -> Result<T, ParamError>,
}

/// A table of [`Registered`], one line for each type, which `$make` turns into what the table is of.
macro_rules! registered {
    ($($Type:ty => $make:expr,)+) => {
        [$( $crate::time::parameters::Registered {
            name: <$Type as $crate::time::parameters::Named>::NAME,
            summary: <$Type as $crate::time::parameters::Named>::SUMMARY,
            parameters: <<$Type as $crate::time::parameters::Named>::Params as $crate::options::OptionGroup>::declared,
            create: |list, preset| {
                <$Type as $crate::time::parameters::Named>::from_list(list, preset).map($make)
            },
        }, )+]
    };
}

pub(in crate::time) use registered;
