//! The search tree: compact nodes in slabs, children in runs that double, no lock on the way down.
//!
//! Nodes (`node`) lie in a tree (`nodes`), whose memory comes from a `slab`. Proofs go up (`verdict`), a full
//! tree is pruned (`prune`), and the tree moves on with its game (`root`). Nodes don't know their parents,
//! and store nothing that depends on the path.

#[cfg(test)]
pub(crate) mod models;
mod node;
mod nodes;
mod prune;
mod root;
mod slab;
pub(crate) mod verdict;

#[cfg(test)]
pub(crate) use node::fixed;
pub(crate) use node::{MAX_VISITS, Node, NodeState, Proof, ProofOutcome, ProvenBounds, VisitSum};
pub(crate) use nodes::{NodeId, Tree, TreeFull, Unvisited};
pub(crate) use prune::{Inside, Reclaimer};
pub(crate) use root::{GameTree, Past, continues};
