//! The version of the program, with the commit that it was built from.

/// `0.1.0` for a release. Else `0.1.0-dev-` and the commit, which debug builds and sources without git leave
/// out.
pub const VERSION: &str = env!("ZEITNOT_VERSION");
