//! A batch and its backup, along the paths of its descents: nodes don't know their parents.

use std::ops::Range;

use crate::network::{EvalSlot, Value, approximate_softmax};
use crate::search::state::{SearchContext, SearchState};
use crate::search::tree::{NodeId, Tree, VisitSum};

/// Converts an evaluation for the side to move into the node's point of view. `depth` counts positions, the
/// root included. A root that nobody can win is drawn, as below another one.
pub(crate) fn leaf_value(context: &SearchContext, depth: usize, evaluation: Value) -> Value {
    let root = context.history.current();
    if depth == 1 && root.has_insufficient_material() {
        return Value::DRAW;
    }
    let root_turn = root.turn();
    let mover = if depth.is_multiple_of(2) {
        root_turn
    } else {
        !root_turn
    };
    context.rescale.apply(evaluation.for_opponent(), mover)
}

/// Ends `visits` visits along `path` with `value`, or from a proven node on with its certain result.
pub(super) fn finish(tree: &Tree, path: &[NodeId], visits: u32, value: Value) {
    let mut sum = VisitSum::finished(visits, value);
    for &id in path.iter().rev() {
        sum = tree.node(id).end_visits(sum).at_parent();
    }
}

pub(super) fn cancel(tree: &Tree, path: &[NodeId], visits: u32) {
    for &id in path {
        tree.node(id).cancel_visits(visits);
    }
}

/// Writes what neighbouring paths share only once.
struct Backup<'a> {
    tree: &'a Tree,
    /// The last path, with the visits that ended at each node and are not written yet.
    open: Vec<(NodeId, VisitSum)>,
}

impl Backup<'_> {
    fn add(&mut self, path: &[NodeId], sum: VisitSum) {
        let shared = self
            .open
            .iter()
            .zip(path)
            .take_while(|((open, _), id)| open == *id)
            .count();
        self.close(shared);
        self.open
            .extend(path[shared..].iter().map(|&id| (id, VisitSum::default())));
        if let Some((_, last)) = self.open.last_mut() {
            *last = last.and(sum);
        }
    }

    fn close(&mut self, depth: usize) {
        while self.open.len() > depth
            && let Some((id, sum)) = self.open.pop()
        {
            let sum = self.tree.node(id).end_visits(sum);
            if let Some((_, parent)) = self.open.last_mut() {
                *parent = parent.and(sum.at_parent());
            }
        }
    }
}

/// Visits at a leaf end with what `leaf_sum` makes of its path and slot.
fn end_visits(tree: &Tree, batch: &Batch, mut leaf_sum: impl FnMut(&[NodeId], &EvalSlot) -> VisitSum) {
    let mut backup = Backup {
        tree,
        open: Vec::new(),
    };
    let mut slots = batch.slots().iter();
    // Neighbouring paths share most.
    for Ending { path, collided } in &batch.endings {
        let path = &batch.nodes[path.clone()];
        backup.add(
            path,
            match *collided {
                0 => slots
                    .next()
                    .map_or(VisitSum::default(), |slot| leaf_sum(path, slot)),
                visits => VisitSum::cancelled(visits),
            },
        );
    }
    backup.close(0);
}

/// Gives the leaf its policy if there is room. False if the visit does not count: a root without a policy
/// must be evaluated again.
pub(super) fn expand(tree: &Tree, path: &[NodeId], policy: &[f32]) -> bool {
    let leaf = path[path.len() - 1];
    let is_expanded = tree.expand(leaf, policy).is_ok();
    if !is_expanded {
        tree.node(leaf).unclaim();
    }
    is_expanded || path.len() > 1
}

pub(crate) fn finish_batch(
    SearchState {
        context,
        budget,
        counters,
        ..
    }: &SearchState,
    batch: &mut Batch,
) {
    let _inside = context.tree.enter();
    for slot in batch.slots_mut() {
        approximate_softmax(&mut slot.logits, context.params.policy_temperature);
    }
    let mut depth_sum = 0;
    let mut max_depth = 0;
    end_visits(
        &context.tree,
        batch,
        |path,
         EvalSlot {
             key,
             evaluation,
             logits: policy,
             ..
         }| {
            context.cache.insert(*key, *evaluation, policy);
            if !expand(&context.tree, path, policy) {
                budget.give_back(1);
                return VisitSum::cancelled(1);
            }
            let depth = path.len();
            (depth_sum, max_depth) = (depth_sum + depth, max_depth.max(depth));
            VisitSum::finished(1, leaf_value(context, depth, *evaluation))
        },
    );
    let prefetched = &batch.slots()[batch.leaves..];
    for EvalSlot {
        key,
        evaluation,
        logits: policy,
        ..
    } in prefetched
    {
        context.cache.insert(*key, *evaluation, policy);
    }
    let mut counters = counters.lock();
    counters.prefetched += prefetched.len() as u64;
    counters.count_depths(depth_sum, max_depth);
}

pub(crate) fn abandon_batch(tree: &Tree, batch: &Batch) {
    let _inside = tree.enter();
    end_visits(tree, batch, |path, _| {
        tree.node(path[path.len() - 1]).unclaim();
        VisitSum::cancelled(1)
    });
}

pub(super) fn release_collisions(tree: &Tree, batch: &mut Batch) {
    let mut backup = Backup {
        tree,
        open: Vec::new(),
    };
    for Ending { path, collided } in batch.endings.iter().filter(|ending| ending.collided > 0) {
        backup.add(&batch.nodes[path.clone()], VisitSum::cancelled(*collided));
    }
    backup.close(0);
    batch.endings.retain(|ending| ending.collided == 0);
}

/// Where a descent has ended: at a leaf of the batch, or at one under evaluation. Visits that collided there
/// stay under way until the backup, so that others avoid the leaf.
struct Ending {
    /// Of `nodes`.
    path: Range<usize>,
    /// 0 at a leaf.
    collided: u32,
}

#[derive(Default)]
pub(crate) struct Batch {
    /// One slot per leaf, and spare ones of larger batches before.
    slots: Vec<EvalSlot>,
    pub(crate) leaves: usize,
    /// Prefetched positions, behind the leaves.
    extra: usize,
    /// In the order of gathering.
    endings: Vec<Ending>,
    nodes: Vec<NodeId>,
}

pub(crate) fn buffer_bytes(positions: usize) -> u64 {
    const LINE: usize = 32;
    (positions * (size_of::<EvalSlot>() + LINE * size_of::<NodeId>())) as u64
}

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        self.endings.is_empty()
    }

    pub(super) fn has_buffers(&self) -> bool {
        !self.slots.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        (self.leaves, self.extra) = (0, 0);
        self.endings.clear();
        self.nodes.clear();
    }

    pub(super) fn push_leaf(&mut self, path: &[NodeId]) -> &mut EvalSlot {
        self.leaves += 1;
        self.end_at(path, 0);
        self.last_slot()
    }

    pub(super) fn push_extra(&mut self) -> &mut EvalSlot {
        self.extra += 1;
        self.last_slot()
    }

    fn last_slot(&mut self) -> &mut EvalSlot {
        let len = self.leaves + self.extra;
        if self.slots.len() < len {
            self.slots.push(EvalSlot::default());
        }
        &mut self.slots[len - 1]
    }

    /// Keeps where visits have collided, or 0 for a leaf.
    pub(super) fn end_at(&mut self, path: &[NodeId], collided: u32) {
        let start = self.nodes.len();
        self.nodes.extend_from_slice(path);
        self.endings.push(Ending {
            path: start..self.nodes.len(),
            collided,
        });
    }

    pub(crate) fn slots(&self) -> &[EvalSlot] {
        &self.slots[..self.leaves + self.extra]
    }

    pub(crate) fn slots_mut(&mut self) -> &mut [EvalSlot] {
        let len = self.leaves + self.extra;
        &mut self.slots[..len]
    }
}
