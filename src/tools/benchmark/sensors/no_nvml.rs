//! The stand-in for NVIDIA's sensors in a build without the laboratory.

use super::Found;

/// Finds nothing and says why.
pub(super) fn find() -> Found {
    let missing = vec!["NVIDIA's GPUs: this build has no laboratory, with which they are read".to_owned()];
    Found { sensors: Vec::new(), missing }
}
