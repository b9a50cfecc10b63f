//! Files in which Linux tells of the machine and of this process, as `/proc/cpuinfo`: lines of a key, a colon and a value.

/// Returns the value of the first line that begins with `key`.
pub(crate) fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    line.split_once(':').map(|(_, value)| value.trim())
}

/// Returns the value of the first line that begins with `key`, a size in kB, in bytes.
pub(crate) fn bytes(text: &str, key: &str) -> Option<u64> {
    value(text, key)?.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_behind_colons() {
        assert_eq!(value("a: 1\nmodel name\t: X 9\n", "model name"), Some("X 9"));
        assert_eq!(value("a: 1", "b"), None);
        assert_eq!(bytes("Name:\tx\nVmRSS:\t  1000 kB\n", "VmRSS"), Some(1_024_000));
        assert_eq!(bytes("VmRSS: much", "VmRSS"), None);
    }
}
