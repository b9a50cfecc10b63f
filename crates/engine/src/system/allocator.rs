//! How the system's allocator treats this process.

/// Has freed memory go back to the system. glibc would keep much of what ended threads had.
pub fn set_up() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use super::address_space_left;
        use std::ffi::c_int;
        // SAFETY: glibc's function, which takes any parameter and value.
        unsafe extern "C" {
            safe fn mallopt(parameter: c_int, value: c_int) -> c_int;
        }
        const MMAP_THRESHOLD: c_int = -3;
        const ARENA_MAX: c_int = -8;
        // A large block is the system's own. This size grows with what is freed unless it is set.
        mallopt(MMAP_THRESHOLD, 128 << 10);
        if address_space_left().is_some() {
            // Each thread would take 64 MB of addresses for itself.
            mallopt(ARENA_MAX, 1);
        }
    }
}
