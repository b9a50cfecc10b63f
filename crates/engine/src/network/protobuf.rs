//! Declares the messages of network files and ONNX models.

/// Fields with type, prost's type and number, then in braces the parts that are messages
/// themselves, by name, type and number. A part without a type is a layer.
macro_rules! messages {
    ($($(#[$doc:meta])* $message:ident {
        $($(#[$note:meta])* $field:ident: $type:ty [$($kind:tt)*] = $number:tt,)*
        $({ $($(#[$of_part:meta])* $part:ident $(: $part_type:ident)? = $part_number:tt,)* })?
    })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, PartialEq, Message)]
            pub struct $message {
                $($(#[$note])* #[prost($($kind)*, tag = $number)] pub $field: $type,)*
                $($($(#[$of_part])*
                    #[prost(message, optional, tag = $part_number)]
                    pub $part: Option<messages!(@type $($part_type)?)>,)*)?
            }
        )*
    };
    (@type) => { Layer };
    (@type $type:ident) => { $type };
}

pub(crate) use messages;
