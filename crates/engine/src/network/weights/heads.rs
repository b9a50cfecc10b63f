//! Picks one of a file's policy heads and one of its value heads, and how a bare model takes positions.

use super::error::{Checked, fault};
use super::message::{self, Weights};
use crate::options::{OptionChoice, option_choice};

option_choice! {
    /// A policy head by Lc0's name.
    pub enum PolicyHeadName = Vanilla {
        /// The plain policy.
        Vanilla = "vanilla",
        /// Trained to look for better moves than the average shows.
        Optimistic = "optimistic",
        /// Trained on flattened targets.
        Soft = "soft",
        /// Trained on the opponent's moves.
        Opponent = "opponent",
    }
}

option_choice! {
    /// A value head by Lc0's name.
    pub enum ValueHeadName = Winner {
        /// The game's result, which is the only value head in most files.
        Winner = "winner",
        /// The search's root evaluation.
        Q = "q",
        /// A short-term average of evaluations.
        St = "st",
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeadChoice {
    pub policy: PolicyHeadName,
    pub value: ValueHeadName,
    /// Lc0's number of the input format of a bare ONNX model, which cannot tell it.
    pub input_format: Option<i32>,
}

/// Takes one policy head's layers from the file, wherever they are, and all names, and drops the others.
pub(crate) fn take_policy(
    weights: &mut Weights,
    name: PolicyHeadName,
) -> Checked<(message::PolicyHead, Vec<PolicyHeadName>)> {
    let shared = (weights.ip_pol_w.take(), weights.ip_pol_b.take());
    let Some(heads) = weights.policy_heads.take() else {
        let only = message::PolicyHead {
            policy1: weights.policy1.take(),
            policy: weights.policy.take(),
            ip_pol_w: shared.0,
            ip_pol_b: shared.1,
            ip2_pol_w: weights.ip2_pol_w.take(),
            ip2_pol_b: weights.ip2_pol_b.take(),
            ip3_pol_w: weights.ip3_pol_w.take(),
            ip3_pol_b: weights.ip3_pol_b.take(),
            ip4_pol_w: weights.ip4_pol_w.take(),
            pol_encoder: std::mem::take(&mut weights.pol_encoder),
            pol_headcount: weights.pol_headcount,
        };
        return pick("policy", name, [(PolicyHeadName::Vanilla, Some(only))]);
    };
    let named = [
        (PolicyHeadName::Vanilla, heads.vanilla),
        (PolicyHeadName::Optimistic, heads.optimistic_st),
        (PolicyHeadName::Soft, heads.soft),
        (PolicyHeadName::Opponent, heads.opponent),
    ];
    let (mut head, names) = pick("policy", name, named)?;
    head.ip_pol_w = head.ip_pol_w.or(heads.ip_pol_w).or(shared.0);
    head.ip_pol_b = head.ip_pol_b.or(heads.ip_pol_b).or(shared.1);
    Ok((head, names))
}

/// Likewise for the value head.
pub(crate) fn take_value(
    weights: &mut Weights,
    name: ValueHeadName,
) -> Checked<(message::ValueHead, Vec<ValueHeadName>)> {
    let Some(heads) = weights.value_heads.take() else {
        let only = message::ValueHead {
            value: weights.value.take(),
            ip_val_w: weights.ip_val_w.take(),
            ip_val_b: weights.ip_val_b.take(),
            ip1_val_w: weights.ip1_val_w.take(),
            ip1_val_b: weights.ip1_val_b.take(),
            ip2_val_w: weights.ip2_val_w.take(),
            ip2_val_b: weights.ip2_val_b.take(),
        };
        return pick("value", name, [(ValueHeadName::Winner, Some(only))]);
    };
    let named = [
        (ValueHeadName::Winner, heads.winner),
        (ValueHeadName::Q, heads.q),
        (ValueHeadName::St, heads.st),
    ];
    pick("value", name, named)
}

/// The head `wanted`, and the names of all that are there.
fn pick<N: OptionChoice, H, const COUNT: usize>(
    kind: &str,
    wanted: N,
    heads: [(N, Option<H>); COUNT],
) -> Checked<(H, Vec<N>)> {
    let names: Vec<_> = heads
        .iter()
        .filter(|(_, head)| head.is_some())
        .map(|(name, _)| *name)
        .collect();
    match heads.into_iter().find(|(name, _)| *name == wanted) {
        Some((_, Some(head))) => Ok((head, names)),
        _ => {
            let present = names
                .iter()
                .map(|name| name.name())
                .collect::<Vec<_>>()
                .join(", ");
            let reason = format!("\"{}\" is not in this network. Present: {present}", wanted.name());
            Err(fault(format!("{kind} head"), reason))
        }
    }
}
