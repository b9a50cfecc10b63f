//! The simple rules: one limit each. Smart pruning, which reads all others' hints, stands beside this folder.

mod budget;
mod depth;
mod kld_gain;
mod mate;
mod move_time;
mod nodes;

pub use budget::{BudgetLimit, FirstEvaluationWait};
pub use depth::DepthLimit;
pub use kld_gain::KldGain;
pub use mate::MateLimit;
pub use move_time::MoveTimeLimit;
pub use nodes::NodeLimit;
