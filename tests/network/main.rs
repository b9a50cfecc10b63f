//! Tests networks: what their files hold, bad ones too, what goes in, and what comes out beside Lc0.

mod bad_files;
#[path = "../common/mod.rs"]
mod common;
mod encoding;
mod golden_files;
mod goldens;
mod native;
