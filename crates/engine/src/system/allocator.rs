//! How the system's allocator treats this process.

/// Has memory that is freed go back to the system. glibc would keep much of what threads had that have ended.
pub fn set_up() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use std::ffi::c_int;
        // SAFETY: glibc's function of that name and type, which takes any parameter and value.
        unsafe extern "C" {
            safe fn mallopt(parameter: c_int, value: c_int) -> c_int;
        }
        const MMAP_THRESHOLD: c_int = -3;
        // A large block is the system's own. This size grows with what is freed unless it is set.
        mallopt(MMAP_THRESHOLD, 128 << 10);
    }
}

#[cfg(all(test, target_os = "linux", target_env = "gnu", not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn large_blocks_are_the_systems_own() {
        set_up();
        drop(vec![1u8; 16 << 20]);
        let blocks: Vec<Vec<u8>> = (0..64).map(|_| Vec::with_capacity(1 << 20)).collect();
        // Behind two numbers of glibc at the start of a page.
        let is_own = |block: &Vec<u8>| block.as_ptr().addr() % 4096 == 2 * size_of::<usize>();
        assert!(blocks.iter().all(is_own));
    }
}
