//! The version of the program, with the commit that it was built from.

/// `0.1.0` for a release; else `0.1.0-dev-` and the commit, which debug builds and sources without git leave out.
pub const VERSION: &str = env!("ZEITNOT_VERSION");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_with_the_packages_version() {
        let rest = VERSION.strip_prefix(env!("CARGO_PKG_VERSION")).unwrap();
        assert!(rest.is_empty() || rest.starts_with("-dev"), "{VERSION}");
    }
}
