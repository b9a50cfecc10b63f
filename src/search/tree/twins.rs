//! Twins: nodes of one position that share what lies below it.
//!
//! The first node of a position keeps all in itself, as in a tree. Once another line comes to the same position, a new node takes
//! over its policy, children and visits: the common node. Both lines have twins of it, which stand for their moves. A
//! twin counts the visits that came through it, those under way included, and is worth what the common node was worth when the
//! last of them ended. So every visit counts once for each position, and a parent has as many visits as it made, as in
//! KataGo's graph search.
//!
//! Positions of different plies are never the same here: no way leads back, and a common node goes with its last twin.
//! The lock of a position's shard is taken where a leaf is made or freed, not on the way down.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::PoisonError;

use super::node::{Bounds, Correction, Node, NodeState, NodeValue, Proof, VisitSum};
use super::nodes::{NodeId, Tree};
use crate::network::cache::KeyHasher;
use crate::search::sync::atomic::{AtomicU64, Ordering};
use crate::search::sync::{Mutex, MutexGuard, SHARDS};

/// Cells before a policy: index of the common node, 0 if there is none, and key of the position.
pub(super) const HEADER: u32 = 3;

/// In the place of the key of a root, which nobody shares.
pub(crate) const ROOT_KEY: u64 = 0;

type Shard = HashMap<u64, NodeId, BuildHasherDefault<KeyHasher>>;

/// The expanded node of each position: the common one, where there are twins.
#[derive(Debug)]
pub(super) struct Positions {
    shards: Vec<Mutex<Shard>>,
    bytes: AtomicU64,
}

impl Positions {
    pub(super) fn new() -> Positions {
        Positions { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), bytes: AtomicU64::new(0) }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn shard(&self, key: u64) -> MutexGuard<'_, Shard> {
        // Other bits than those by which the map goes.
        let index = (key >> 40) as usize % SHARDS;
        self.shards[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the node of a position, unless there is one.
    fn add(&self, key: u64, id: NodeId) {
        let mut shard = self.shard(key);
        let before = shard.capacity();
        shard.entry(key).or_insert(id);
        // A map has a byte for each place too, and fills seven of eight. What it had before it grew stays with the allocator.
        let grown = (shard.capacity() - before) * (size_of::<(u64, NodeId)>() + 1) * 12 / 7;
        self.bytes.fetch_add(grown as u64, Ordering::Relaxed);
    }
}

/// What a node that is to be freed leaves to be freed with it.
pub(super) enum Left {
    Nothing,
    /// Policy and children of the node.
    Own,
    /// Those of the common node, whose last twin it was.
    Common(NodeId),
}

impl Tree {
    /// Returns the node that has policy and children of a node's position: the common one of a twin, otherwise the node itself.
    #[inline]
    pub(crate) fn common<'a>(&'a self, node: &'a Node) -> &'a Node {
        if self.positions.is_some() && node.is_twin() { self.node(self.common_of_twin(node)) } else { node }
    }

    pub(super) fn common_id(&self, id: NodeId) -> NodeId {
        let node = self.node(id);
        if node.is_twin() { self.common_of_twin(node) } else { id }
    }

    fn common_of_twin(&self, twin: &Node) -> NodeId {
        NodeId(self.policies.slot(twin.policy_start() - HEADER).load(Ordering::Relaxed))
    }

    pub(super) fn is_common(&self, id: NodeId) -> bool {
        let node = self.node(id);
        self.positions.is_some() && node.state() == NodeState::Expanded && self.common_of_twin(node) == id
    }

    /// Writes the header of a policy at `start`, for a claimed node that has its key.
    pub(super) fn write_header(&self, node: &Node, start: u32) {
        let key = node.remembered_key();
        let cells = self.policies.run(start - HEADER, HEADER as usize);
        for (cell, value) in cells.iter().zip([0, key as u32, (key >> 32) as u32]) {
            cell.store(value, Ordering::Relaxed);
        }
    }

    fn key_of(&self, node: &Node) -> u64 {
        let cells = self.policies.run(node.policy_start() - HEADER, HEADER as usize);
        u64::from(cells[2].load(Ordering::Relaxed)) << 32 | u64::from(cells[1].load(Ordering::Relaxed))
    }

    /// Lets others find an expanded node, unless it is a root.
    pub(super) fn publish(&self, id: NodeId) {
        if let Some(positions) = &self.positions {
            let key = self.key_of(self.node(id));
            if key != ROOT_KEY {
                positions.add(key, id);
            }
        }
    }

    /// Lets nobody share what a node has that is to be the root, not even late batches of an earlier search. Returns the root: the
    /// common node, if others share it already.
    pub(super) fn take_for_root(&self, id: NodeId) -> NodeId {
        let Some(positions) = &self.positions else { return id };
        let _alone = self.traffic.write().unwrap_or_else(PoisonError::into_inner);
        let node = self.node(id);
        match node.state() {
            NodeState::Twin => return self.common_of_twin(node),
            NodeState::Claimed => node.remember_key(ROOT_KEY),
            NodeState::Expanded if !self.is_common(id) => {
                let key = self.key_of(node);
                let mut shard = positions.shard(key);
                if shard.get(&key) == Some(&id) {
                    shard.remove(&key);
                }
            }
            _ => (),
        }
        id
    }

    /// Makes the claimed `leaf` a twin of the node that its position has already. Returns false if there is none that knows as much,
    /// or another worker is changing it.
    pub(crate) fn share(&self, leaf: NodeId, key: u64) -> bool {
        let Some(positions) = &self.positions else { return false };
        let mut shard = positions.shard(key);
        let Some(known) = shard.get_mut(&key) else { return false };
        // A leaf that was pruned may know more.
        if self.node(leaf).visits() > self.node(*known).visits() {
            return false;
        }
        if !self.is_common(*known) {
            let Some(common) = self.split_off(*known) else { return false };
            *known = common;
        }
        let common = self.node(*known);
        common.count_twins(1);
        self.node(leaf).become_twin(common.policy_start());
        true
    }

    /// Makes a common node of what an expanded node has, which becomes its first twin. The caller holds the lock of the position.
    fn split_off(&self, id: NodeId) -> Option<NodeId> {
        let node = self.node(id);
        // Without a visit its value is not known yet.
        if node.visits() == 0 || !node.lock_for_growth() {
            return None;
        }
        let Ok(common) = self.new_root() else {
            node.unlock();
            return None;
        };
        self.policies.slot(node.policy_start() - HEADER).store(common.0, Ordering::Relaxed);
        node.hand_over(self.node(common));
        Some(common)
    }

    /// Keeps a common node although it may lose its twins.
    pub(super) fn hold(&self, common: NodeId) {
        if let Some(positions) = &self.positions {
            let _shard = positions.shard(self.key_of(self.node(common)));
            self.node(common).count_twins(1);
        }
    }

    /// Takes a node out of its position's place, and a twin from its common node: nobody finds them there any more.
    pub(super) fn leave_position(&self, id: NodeId) -> Left {
        let node = self.node(id);
        let is_expanded = matches!(node.state(), NodeState::Expanded | NodeState::Twin);
        let Some(positions) = self.positions.as_ref().filter(|_| is_expanded) else {
            return if is_expanded { Left::Own } else { Left::Nothing };
        };
        let key = self.key_of(node);
        let mut shard = positions.shard(key);
        // Only with the lock it cannot become a twin at this moment.
        if node.is_twin() || self.is_common(id) {
            let common = self.common_of_twin(node);
            if node.is_twin() {
                node.collapse();
            }
            if self.node(common).count_twins(-1) > 0 {
                return Left::Nothing;
            }
            shard.remove(&key);
            return Left::Common(common);
        }
        if shard.get(&key) == Some(&id) {
            shard.remove(&key);
        }
        Left::Own
    }

    /// Ends visits that went through a node. Returns how they have ended for those above it.
    #[inline]
    pub(crate) fn end_visits(&self, id: NodeId, sum: VisitSum) -> VisitSum {
        let node = self.node(id);
        node.end_visits(sum).unwrap_or_else(|| {
            let common = self.node(self.common_of_twin(node));
            common.add_visits(sum);
            node.end_visits_of_twin(sum, common)
        })
    }

    /// Ends visits at a twin, which learn what other lines have found. Returns how they have ended for those above it.
    pub(crate) fn stop_visits(&self, twin: NodeId, visits: u32) -> VisitSum {
        let node = self.node(twin);
        node.end_visits_of_twin(VisitSum::finished(visits, NodeValue::DRAW), self.common(node))
    }

    /// Gives the visits of a node and of its position a certain value. Returns the change for those above it, `None` if nothing was learnt.
    pub(super) fn prove(&self, id: NodeId, proof: Proof) -> Option<Correction> {
        let learn = |node: &Node| node.prove(proof).or_else(|| node.shorten(proof));
        let (node, common) = (self.node(id), self.common(self.node(id)));
        let change = learn(common);
        if std::ptr::eq(node, common) { change } else { learn(node) }
    }

    /// Marks results of a node's position outside of `bounds` as impossible. Returns whether any of them was possible until now.
    pub(super) fn narrow(&self, id: NodeId, bounds: Bounds) -> bool {
        let node = self.node(id);
        let common = self.common(node);
        let is_new = common.proof().is_none() && common.narrow(bounds);
        if std::ptr::eq(node, common) { is_new } else { node.proof().is_none() && node.narrow(bounds) }
    }

    /// Revalues visits below a node. Returns the change for those above it, if there is one.
    pub(super) fn correct(&self, id: NodeId, by: Correction) -> Option<Correction> {
        let node = self.node(id);
        match node.correct(by) {
            Some(is_open) => is_open.then_some(by),
            None => {
                let common = self.node(self.common_of_twin(node));
                common.correct(by)?.then(|| node.follow(common))?
            }
        }
    }
}
