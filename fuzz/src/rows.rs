//! Rows that `report` reads: of matches, of replayed games, of positions. Pages are made of what is accepted.

use zeitnot_lab::matches::{self, MatchStudy};
use zeitnot_lab::replay::{self, ReplayStudy};

/// A text that no page may contain as it stands: where it comes from a file it must be escaped.
const MARKUP: &[u8] = b"<script";

/// Reads rows and makes pages of them.
pub fn run(data: &[u8]) -> bool {
    let (_folder, path) = super::file("input.csv", data);
    let files = [path];
    let mut pages = Vec::new();
    if let Ok(studies) = MatchStudy::read(&files, None)
        && !studies.is_empty()
    {
        pages.push(matches::page(&studies).to_html());
    }
    if let Ok(study) = ReplayStudy::read(&files)
        && !study.is_empty()
    {
        pages.push(replay::page(&study).to_html());
    }
    for page in &pages {
        let found = page
            .as_bytes()
            .windows(MARKUP.len())
            .filter(|part| part.eq_ignore_ascii_case(MARKUP));
        assert_eq!(found.count(), 0, "markup from the rows is in the page");
    }
    !pages.is_empty()
}
