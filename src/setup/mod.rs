//! Sets up this machine's device for evaluation: describes the machine, chooses a provider of ONNX Runtime
//! for its GPU, names what is missing and how to install it, and fetches what can be fetched.
//!
//! `setup`, `doctor` and speed measurements call it. It calls [`zeitnot_engine::network`], which finds and
//! loads libraries, and [`zeitnot_engine::system`]. Output of pip and the system goes to the log.
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

pub(crate) use fetch::{Fetcher, sha256};
pub(crate) use machine::{Machine, Part, obstacle, with_remedy};
pub(crate) use networks::{PublishedNetwork, choose, published};
pub(crate) use plan::{Plan, missing};
pub(crate) use processors::allowed;
pub(crate) use rule::Choice;
#[cfg(test)]
pub(crate) use rule::tests::rule_rows;
