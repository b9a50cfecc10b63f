//! What makes a search go: its threads, its device, and the end.

pub(crate) mod controller;
pub(crate) mod device;
pub(crate) mod search;
pub(crate) mod stepped;
pub(crate) mod stop_controller;
pub(crate) mod wakeup_latency;
pub(crate) mod worker;
