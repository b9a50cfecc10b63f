//! Tests networks: what their files hold, what goes in, and what comes out beside Lc0.

#[path = "../common/mod.rs"]
mod common;
mod encoding;
mod golden_files;
mod goldens;
mod native;
