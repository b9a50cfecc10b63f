//! Huge pages, which the tree asks for.

#[path = "../../src/system/huge_pages.rs"]
pub(crate) mod huge_pages;
