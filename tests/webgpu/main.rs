//! Tests the backend `webgpu` on a GPU that is software: Mesa's Vulkan driver for processors.
//!
//! The driver is a package of the system. Where it is missing, these tests say so and pass, unless
//! `ZEITNOT_REQUIRE_SOFTWARE_GPU=1` forbids that, as our CI does.

#[path = "../common/mod.rs"]
mod common;
mod device_loss;
#[path = "../network/golden_files.rs"]
mod golden_files;
mod goldens;
mod playing;
mod setup;
mod software_gpu;
