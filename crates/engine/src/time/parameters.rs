//! Registers time managers and moves-left estimators.

use crate::options::{OptionGroup, OptionSpec};
use crate::params::{ParamError, Params};

/// What is chosen by name, with parameters in a list.
pub trait Named: Sized {
    /// The name by which it is chosen.
    const NAME: &'static str;
    /// A sentence for people.
    const SUMMARY: &'static str;
    /// The parameters that it is made from.
    type Params: OptionGroup + Into<Self>;

    /// Fails if a parameter is unknown or out of its range.
    fn from_list(list: &Params) -> Result<Self, ParamError> {
        Self::Params::default()
            .read(Self::NAME, list, &[])
            .map(Into::into)
    }
}

/// An entry of a list of choices.
#[derive(Clone, Copy, Debug)]
pub struct Registered<T> {
    /// The name by which it is chosen.
    pub name: &'static str,
    /// A sentence for people.
    pub summary: &'static str,
    /// The declarations of its parameters.
    pub parameters: fn() -> Vec<OptionSpec>,
    pub(in crate::time) create: fn(&Params) -> Result<T, ParamError>,
}

/// A table of [`Registered`]. `$make` turns each type into what the table is of.
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
