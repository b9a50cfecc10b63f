//! What it takes to evaluate on this machine's device: describes the machine, chooses a provider of ONNX
//! Runtime for its GPU, says what is missing and how to install it, and fetches what can be fetched.
//!
//! `setup`, `doctor` and what measures speed call it. It calls [`zeitnot_engine::network`], which finds and
//! loads what is there, and [`zeitnot_engine::system`]. Nothing here speaks to the user: messages go to the
//! caller, and what pip or the system says goes to the log.
//!
//! - `packages`: what is fetched, a pinned version and hash of each package
//! - `fetch`: fetches and unpacks one package
//! - `networks`: chooses a network for the machine, and fetches it with curl
//! - `machine`: the machine, what it lacks for a provider, and the command that installs it
//! - `processors`: the processors that this program may use
//! - `rule`: chooses a provider for the machine's GPU
//! - `plan`: all that one provider needs, and what of it is here

mod fetch;
mod machine;
mod networks;
mod packages;
mod plan;
mod processors;
mod rule;

pub(crate) use fetch::Fetcher;
pub(crate) use machine::{Machine, Part, obstacle, with_remedy};
pub(crate) use networks::{DownloadError, PublishedNetwork, choose, published};
pub(crate) use plan::{NotFetched, Plan, missing};
pub(crate) use processors::{Processors, allowed};
pub(crate) use rule::Choice;
#[cfg(test)]
pub(crate) use rule::rule_rows;
