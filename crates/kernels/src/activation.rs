//! The functions between the layers of networks.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `max(x, 0)`
    Relu,
    /// `x tanh(ln(1 + e^x))`
    Mish,
    /// `x`
    None,
    /// `tanh x`
    Tanh,
    /// `1 / (1 + e^-x)`
    Sigmoid,
    /// `1.0507 x` above 0, `1.0507 · 1.67326 (e^x - 1)` below
    Selu,
    /// `x / (1 + e^-x)`
    Swish,
    /// `max(x, 0)²`
    Relu2,
}
