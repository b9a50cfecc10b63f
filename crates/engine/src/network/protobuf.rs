//! How messages of network files and ONNX models are declared.

/// Declares messages: fields with type, prost's type and number, then in braces the layers by name and
/// number.
macro_rules! messages {
    ($($(#[$doc:meta])* $message:ident {
        $($(#[$note:meta])* $field:ident: $type:ty [$($kind:tt)*] = $number:tt,)*
        $({ $($layer:ident = $layer_number:tt,)* })?
    })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, PartialEq, Message)]
            pub(crate) struct $message {
                $($(#[$note])* #[prost($($kind)*, tag = $number)] pub(crate) $field: $type,)*
                $($(#[prost(message, optional, tag = $layer_number)] pub(crate) $layer: Option<Layer>,)*)?
            }
        )*
    };
}

pub(crate) use messages;
