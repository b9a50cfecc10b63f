//! Tests slabs: runs come and go, are joined and cut, and never have two owners.

use super::*;

const ANY_LENGTH: RunClasses =
    RunClasses { len: |class| class as u32, within: |len| (len as usize).min(CLASSES - 1) };

fn take(slab: &Slab<AtomicU32>, class: usize, len: u32) -> Option<u32> {
    slab.allocate(class, len).or_else(|| slab.grow(len))
}

/// Takes a run, but only from slots that were given back.
fn again(slab: &Slab<AtomicU32>, class: usize, len: u32) -> Option<u32> {
    slab.pop(class).or_else(|| slab.carve(len))
}

#[test]
fn runs_never_overlap_and_come_back() {
    let slab = Slab::<AtomicU32>::new(ANY_LENGTH);
    let first = take(&slab, 1, 4).unwrap();
    let second = take(&slab, 1, 4).unwrap();
    assert!(first != 0 && second >= first + 4);
    slab.release(1, first, 4);
    assert_eq!(slab.used(), 4);
    assert_eq!(take(&slab, 1, 4), Some(first));
    assert_eq!(take(&slab, 2, 8), Some(second + 4));
}

#[test]
fn free_runs_are_joined_and_cut_anew() {
    let slab = Slab::<AtomicU32>::new(ANY_LENGTH);
    let runs: Vec<u32> = (0..100).map(|_| take(&slab, 4, 4).unwrap()).collect();
    assert_eq!(again(&slab, 8, 8), None);
    runs[..40].iter().chain(&runs[50..90]).for_each(|&run| slab.release(4, run, 4));
    assert_eq!(again(&slab, 8, 8), None);
    assert_eq!(slab.join_free_runs(), 320);
    let mut taken: Vec<u32> = std::iter::from_fn(|| again(&slab, 7, 7)).collect();
    assert_eq!(taken.len(), 2 * (160 / 7));
    taken.sort();
    assert!(taken.windows(2).all(|pair| pair[0] + 7 <= pair[1]));
    assert!(taken.iter().all(|run| (1..161).contains(run) || (201..361).contains(run)), "{taken:?}");
    // Six slots are left of each chunk, at 155 and at 355.
    assert!(matches!(again(&slab, 3, 3), Some(155 | 355)));
}

#[test]
fn longer_runs_are_cut_where_none_of_the_length_is_free() {
    let slab = Slab::<AtomicU32>::new(ANY_LENGTH);
    let run = take(&slab, 20, 20).unwrap();
    slab.release(20, run, 20);
    assert_eq!(again(&slab, 21, 21), None);
    assert_eq!([again(&slab, 12, 12), again(&slab, 5, 5)], [Some(run), Some(run + 12)]);
    assert_eq!((again(&slab, 4, 4), again(&slab, 3, 3)), (None, Some(run + 17)));
}

/// A regression: short runs were cut off the longest chunk while there were free runs of their length, until nothing was
/// left for long ones.
#[test]
fn short_runs_leave_long_chunks_alone() {
    let slab = Slab::<AtomicU32>::new(ANY_LENGTH);
    let runs: Vec<u32> = (0..50).map(|_| take(&slab, 4, 4).unwrap()).collect();
    runs[..40].iter().chain(&runs[45..46]).for_each(|&run| slab.release(4, run, 4));
    assert_eq!(slab.join_free_runs(), 160);
    assert_eq!((again(&slab, 3, 3), again(&slab, 1, 1)), (Some(runs[45]), Some(runs[45] + 3)));
    assert_eq!(again(&slab, 127, 127), Some(runs[0]));
}

/// A regression: of very many free runs those that had been freed last were joined, over and over, neighbours or not.
#[test]
fn neighbours_are_joined_however_many_runs_are_free() {
    let slab = Slab::<AtomicU32>::new(ANY_LENGTH);
    let runs: Vec<u32> = (0..600_000).map(|_| take(&slab, 1, 1).unwrap()).collect();
    let [even, odd] = [0, 1].map(|first| runs.iter().skip(first).step_by(2));
    even.chain(odd).for_each(|&run| slab.release(1, run, 1));
    let joined = (0..4).map(|_| slab.join_free_runs()).last();
    assert!(joined > Some(590_000), "{joined:?}");
}

#[test]
fn a_slab_at_its_end_still_hands_out_what_came_back() {
    let slab = Slab::<AtomicU32>::ending_at(3 * CHUNK, ANY_LENGTH);
    let runs: Vec<u32> = std::iter::from_fn(|| take(&slab, 4, 4)).collect();
    // The first slot and the last chunk, which has no room behind it, are never handed out.
    assert_eq!(runs.len() as u32, (2 * CHUNK) / 4);
    runs[..100].iter().for_each(|&run| slab.release(4, run, 4));
    assert_eq!(take(&slab, 8, 8), None, "nothing of that class");
    assert_eq!(slab.join_free_runs(), 400);
    assert_eq!(std::iter::from_fn(|| again(&slab, 8, 8)).count(), 50);
}

#[test]
fn runs_stay_inside_a_block() {
    let slab = Slab::<AtomicU32>::new(ANY_LENGTH);
    for _ in 0..5000 {
        let start = take(&slab, 0, 100).unwrap();
        assert!(blocks::share_block(start, start + 99));
    }
}

#[test]
fn threads_never_get_the_same_run() {
    let slab = Slab::<AtomicU32>::new(ANY_LENGTH);
    std::thread::scope(|scope| {
        for thread in 1..=4u32 {
            let slab = &slab;
            scope.spawn(move || {
                let mut held = Vec::new();
                for round in 0..20_000u32 {
                    let start = take(slab, 1, 4).unwrap();
                    slab.run(start, 4).iter().for_each(|slot| slot.store(thread, Ordering::Relaxed));
                    held.push(start);
                    if round % 3 != 0 {
                        let start = held.swap_remove((round as usize * 7) % held.len());
                        for slot in slab.run(start, 4) {
                            assert_eq!(slot.load(Ordering::Relaxed), thread, "a run has two owners");
                        }
                        slab.release(1, start, 4);
                    }
                }
            });
        }
    });
}
