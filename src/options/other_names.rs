//! Names that hosts use for options of ours: those which UCI and other engines have made common, and flags that Lc0 spells
//! otherwise. Used by `engine`.

/// An option's second name.
#[derive(Debug, PartialEq)]
pub struct OtherName {
    /// The second name under UCI.
    pub name: &'static str,
    /// The second flag.
    pub flag: &'static str,
    /// The name of the option.
    pub option: &'static str,
    /// A sentence on what it is.
    pub help: &'static str,
}

impl OtherName {
    /// Returns true if `name` is this name, in any case, or its flag.
    pub fn is_named(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name) || self.flag == name
    }
}

/// The second names; a name stands beside the option's own in the list of options.
pub const OTHER_NAMES: [OtherName; 2] = [
    OtherName {
        name: "Hash",
        flag: "hash",
        option: "RamLimitMb",
        help: "The same as RamLimitMb: memory for tree, cache and batches, MB; 0 is four fifths of the machine's or the container's.",
    },
    OtherName {
        name: "Move Overhead",
        flag: "move-overhead-ms",
        option: "MoveOverheadMs",
        help: "The same as MoveOverheadMs.",
    },
];

/// Returns the name of an option that has two, as it is listed, and its other one; `None` if `name` is no such name.
pub fn both_names(name: &str) -> Option<[&'static str; 2]> {
    let own = own_name(name);
    let other = OTHER_NAMES.iter().find(|other| other.option.eq_ignore_ascii_case(own))?;
    Some(if other.is_named(name) { [other.name, other.option] } else { [other.option, other.name] })
}

/// Returns the own name of the option that `name` means; `name` itself unless it is a second one.
pub fn own_name(name: &str) -> &str {
    OTHER_NAMES.iter().find(|other| other.is_named(name)).map_or(name, |other| other.option)
}
