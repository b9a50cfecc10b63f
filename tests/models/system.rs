//! Huge pages, which the tree asks for.

#[path = "../../crates/engine/src/system/huge_pages.rs"]
pub(crate) mod huge_pages;
