//! Macros that make the setters of option types.

/// Makes setters of fields that are `None` by default.
macro_rules! limits {
    ($($(#[$doc:meta])+ $field:ident: $type:ty,)+) => {
        $(
            $(#[$doc])+
            #[must_use]
            pub fn $field(mut self, $field: $type) -> Self {
                self.$field = Some($field);
                self
            }
        )+
    };
}

/// Makes setters that call the setter of the same name of a part: `place: level: usize` calls `Place::level`.
macro_rules! passed_on {
    ($($(#[$doc:meta])+ $part:ident: $field:ident: $type:ty,)+) => {
        $(
            $(#[$doc])+
            #[must_use]
            pub fn $field(mut self, $field: $type) -> Self {
                self.$part = self.$part.$field($field);
                self
            }
        )+
    };
}

pub(crate) use limits;
pub(crate) use passed_on;
pub(crate) use strile_engine::setters;
