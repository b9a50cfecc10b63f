//! What the tree is made of in models: loom's atomics and locks, and blocks of a few slots.

pub(crate) use loom::sync::{RwLockReadGuard, atomic};

use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use atomic::{AtomicBool, Ordering};

/// The number of slots of the first block: each slot costs time in each of the many runs of a model.
pub(crate) const FIRST_BLOCK: u32 = 8;
/// The number of regions of a slab.
pub(crate) const REGIONS: usize = 2;
/// The number of blocks, so that a slab ends soon.
pub(crate) const BLOCKS: usize = 4;

/// A lock of loom's, which says nothing of threads that panicked while they held it.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Mutex<T> {
        Mutex(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().unwrap()))
    }
}

/// A guard that a condition variable can take and give back.
#[derive(Debug)]
pub(crate) struct MutexGuard<'a, T>(Option<loom::sync::MutexGuard<'a, T>>);

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().unwrap()
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().unwrap()
    }
}

/// A condition variable of loom's, whose waits have no end of their own.
#[derive(Debug, Default)]
pub(crate) struct Condvar(loom::sync::Condvar);

impl Condvar {
    pub(crate) fn wait_while_for<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut must_wait: impl FnMut(&mut T) -> bool,
        _timeout: Duration,
    ) {
        while must_wait(guard) {
            guard.0 = guard.0.take().map(|locked| self.0.wait(locked).unwrap());
        }
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// A lock for many readers or one writer, likewise.
#[derive(Debug, Default)]
pub(crate) struct RwLock<T>(loom::sync::RwLock<T>);

impl<T> RwLock<T> {
    pub(crate) fn new(value: T) -> RwLock<T> {
        RwLock(loom::sync::RwLock::new(value))
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap()
    }

    pub(crate) fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        self.0.try_read().ok()
    }

    pub(crate) fn try_read_for(&self, _patience: Duration) -> Option<RwLockReadGuard<'_, T>> {
        self.try_read()
    }

    pub(crate) fn write(&self) -> loom::sync::RwLockWriteGuard<'_, T> {
        self.0.write().unwrap()
    }
}

/// Threads of loom's, with room on their stacks: what loom gives them is little more than a model takes.
pub(crate) mod thread {
    pub(crate) use loom::thread::{JoinHandle, yield_now};

    /// The size of a stack, in words.
    const STACK: usize = 1 << 16;

    /// Starts a thread of a model.
    pub(crate) fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        loom::thread::Builder::new()
            .stack_size(STACK)
            .spawn(work)
            .unwrap()
    }
}

/// Returns `len` values that are what zeroed memory is in the engine.
pub(crate) fn zeroed_block<T: Default>(len: usize) -> Box<[MaybeUninit<T>]> {
    (0..len).map(|_| MaybeUninit::new(T::default())).collect()
}

/// Lets the other threads go on, one of which holds the lock that is wanted.
pub(crate) fn wait_for_lock(_tries: u32) {
    thread::yield_now();
}

/// A cell that is written once. Loom has none of its own, and does not see what that of the standard library orders.
#[derive(Debug)]
pub(crate) struct OnceLock<T> {
    value: std::sync::OnceLock<T>,
    is_set: AtomicBool,
    lock: Mutex<()>,
}

impl<T> OnceLock<T> {
    /// Returns an empty cell.
    pub(crate) fn new() -> OnceLock<T> {
        OnceLock {
            value: std::sync::OnceLock::new(),
            is_set: AtomicBool::new(false),
            lock: Mutex::new(()),
        }
    }

    /// Returns the value, made by `make` if there is none.
    pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        if !self.is_set.load(Ordering::Acquire) {
            let _alone = self.lock.lock();
            self.value.get_or_init(make);
            self.is_set.store(true, Ordering::Release);
        }
        self.value.get().unwrap()
    }
}
