//! Picks one of a file's policy heads and one of its value heads, and how a bare model takes positions.

use super::NetworkErrorKind;
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

pub(crate) fn policy_heads(weights: &Weights) -> Vec<PolicyHeadName> {
    let Some(heads) = &weights.policy_heads else { return vec![PolicyHeadName::Vanilla] };
    let present = [&heads.vanilla, &heads.optimistic_st, &heads.soft, &heads.opponent];
    present_heads(present.map(|head| head.is_some()))
}

/// Names the heads `present`, given in the file's order.
fn present_heads<H: OptionChoice, const N: usize>(present: [bool; N]) -> Vec<H> {
    H::CHOICES.iter().zip(present).filter(|(_, is_present)| *is_present).map(|(choice, _)| choice.1).collect()
}

pub(crate) fn value_heads(weights: &Weights) -> Vec<ValueHeadName> {
    let Some(heads) = &weights.value_heads else { return vec![ValueHeadName::Winner] };
    let present = [&heads.winner, &heads.q, &heads.st];
    present_heads(present.map(|head| head.is_some()))
}

fn require<H: OptionChoice>(kind: &'static str, wanted: H, present: &[H]) -> Result<(), NetworkErrorKind> {
    if present.contains(&wanted) {
        return Ok(());
    }
    let present = present.iter().map(|head| head.name()).collect::<Vec<_>>().join(", ");
    Err(NetworkErrorKind::Head { kind, wanted: wanted.name().into(), present })
}

/// Takes one policy head's layers from the file, wherever they are, and drops the others.
pub(crate) fn take_policy(
    weights: &mut Weights,
    name: PolicyHeadName,
) -> Result<message::PolicyHead, NetworkErrorKind> {
    require("policy", name, &policy_heads(weights))?;
    let shared = (weights.ip_pol_w.take(), weights.ip_pol_b.take());
    let Some(heads) = weights.policy_heads.take() else {
        return Ok(message::PolicyHead {
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
        });
    };
    let head = match name {
        PolicyHeadName::Vanilla => heads.vanilla,
        PolicyHeadName::Optimistic => heads.optimistic_st,
        PolicyHeadName::Soft => heads.soft,
        PolicyHeadName::Opponent => heads.opponent,
    };
    let mut head = head.unwrap_or_default();
    head.ip_pol_w = head.ip_pol_w.or(heads.ip_pol_w).or(shared.0);
    head.ip_pol_b = head.ip_pol_b.or(heads.ip_pol_b).or(shared.1);
    Ok(head)
}

/// Likewise for the value head.
pub(crate) fn take_value(
    weights: &mut Weights,
    name: ValueHeadName,
) -> Result<message::ValueHead, NetworkErrorKind> {
    require("value", name, &value_heads(weights))?;
    let Some(heads) = weights.value_heads.take() else {
        return Ok(message::ValueHead {
            value: weights.value.take(),
            ip_val_w: weights.ip_val_w.take(),
            ip_val_b: weights.ip_val_b.take(),
            ip1_val_w: weights.ip1_val_w.take(),
            ip1_val_b: weights.ip1_val_b.take(),
            ip2_val_w: weights.ip2_val_w.take(),
            ip2_val_b: weights.ip2_val_b.take(),
        });
    };
    let head = match name {
        ValueHeadName::Winner => heads.winner,
        ValueHeadName::Q => heads.q,
        ValueHeadName::St => heads.st,
    };
    Ok(head.unwrap_or_default())
}
