//! How time managers and moves-left estimators are registered: by a name, a line for the documentation and
//! their parameters.

use crate::options::{OptionGroup, OptionSpec};
use crate::params::{ParamError, Params};

/// A manager or an estimator that a parameter list can name.
pub trait Named: Sized {
    const NAME: &'static str;
    /// What it does, in one line for the documentation.
    const SUMMARY: &'static str;
    /// Its parameters, of which it is made. It may be no more than them.
    type Params: OptionGroup + Into<Self>;

    /// Makes it from a parameter list.
    fn from_list(list: &Params) -> Result<Self, ParamError> {
        Self::Params::default().read(Self::NAME, list, &[]).map(Into::into)
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
    pub(in crate::time) create: fn(&Params) -> Result<T, ParamError>,
}

/// A table of [`Registered`], one line for each type, which `$make` turns into what the table is of.
macro_rules! registered {
    ($($Type:ty => $make:expr,)+) => {
        [$( $crate::time::parameters::Registered {
            name: <$Type as $crate::time::parameters::Named>::NAME,
            summary: <$Type as $crate::time::parameters::Named>::SUMMARY,
            parameters: <<$Type as $crate::time::parameters::Named>::Params as $crate::options::OptionGroup>::declared,
            create: |list| <$Type as $crate::time::parameters::Named>::from_list(list).map($make),
        }, )+]
    };
}

pub(in crate::time) use registered;
