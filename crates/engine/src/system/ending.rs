//! How this process ends.

use std::io::{self, Write};

/// Ends the process, after all that waits for stdout is written. A library that takes itself down at the end
/// of a process crashes it if a thread is within: one that a device has not answered, or that gives a network
/// back. So nothing of that kind is run.
pub fn end(code: u8) -> ! {
    // Whoever needs to know has been told already.
    let _ = io::stdout().flush();
    #[cfg(unix)]
    {
        use std::ffi::c_int;
        // SAFETY: POSIX has the function with this type, which takes any code.
        unsafe extern "C" {
            safe fn _exit(code: c_int) -> !;
        }
        _exit(code.into())
    }
    #[cfg(not(unix))]
    std::process::exit(code.into())
}
