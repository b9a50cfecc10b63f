//! Models of what several threads do to the tree at once.
//!
//! `tests/models` runs them under loom, which tries all orders of a model's steps, and all values that a load may return; a
//! unit test runs them on real threads. So they are small: two or three threads, a few steps each.

mod children;
mod slab;
mod values;
mod whole_tree;

/// The models: what each shows, in words, and a function that panics if that is not so.
pub(crate) const MODELS: &[(&str, fn())] = &[
    ("slab: a free run that is taken has one owner", slab::a_free_run_that_is_taken_has_one_owner),
    (
        "slab: threads that share a chunk cut it at different places",
        slab::threads_that_share_a_chunk_cut_it_at_different_places,
    ),
    (
        "children: one worker claims a leaf, and whoever sees it expanded sees its policy",
        children::whoever_sees_a_node_expanded_sees_its_policy,
    ),
    ("children: a child is whole once it is counted", children::a_child_is_whole_once_it_is_counted),
    ("children: no child is lost or made twice", children::no_child_is_lost_or_made_twice),
    (
        "values: visits that end at once count for what they are",
        values::visits_that_end_at_once_count_for_what_they_are,
    ),
    (
        "values: a proof revalues all visits of its node and its ancestors",
        values::a_proof_revalues_all_visits,
    ),
    ("values: of two proofs of one node one counts", values::of_two_proofs_one_counts),
    (
        "values: visits of a draw that is none any more are taken back",
        values::visits_of_a_draw_are_taken_back_once,
    ),
    (
        "values: a draw that is none any more does not end the game",
        values::a_draw_that_is_none_any_more_does_not_end_the_game,
    ),
    (
        "tree: a descent and pruning keep out of each other's way",
        whole_tree::a_descent_and_pruning_keep_apart,
    ),
    (
        "tree: what the game has left is freed beside a search that goes on",
        whole_tree::what_the_game_has_left_is_freed_beside_a_search,
    ),
];

#[test]
fn models_hold_on_real_threads() {
    for (_, model) in MODELS {
        (0..100).for_each(|_| model());
    }
}
