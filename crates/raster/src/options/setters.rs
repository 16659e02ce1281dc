//! Macros that generate the setters of option types.

/// Generates setters of fields that are `None` by default. They take a value.
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

/// Generates setters of fields that are `None` by default. They take a value or an `Option`.
macro_rules! optional {
    ($($(#[$doc:meta])+ $field:ident: $type:ty,)+) => {
        $(
            $(#[$doc])+
            #[must_use]
            pub fn $field(mut self, $field: impl Into<Option<$type>>) -> Self {
                self.$field = $field.into();
                self
            }
        )+
    };
}

/// Generates setters that call the setter of the same name of a part: `place: level: usize` calls `Place::level`.
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

/// Generates the setters of `execution`, an [`Execution`](super::Execution).
macro_rules! execution_setters {
    () => {
        $crate::options::passed_on! {
            /// Sets how to handle faulty blocks.
            execution: on_fault: $crate::options::OnFault,
            /// Limits the number of samples of the result, or of each window of a batch before it is resampled.
            execution: max_pixels: u64,
            /// Limits the decoded size of a compressed block in bytes.
            execution: max_block_bytes: u64,
            /// Limits the bytes fetched from remote sources.
            execution: max_cloud_bytes: u64,
            /// Sets whether to use the block cache of the process.
            execution: cache: $crate::cache::Cache,
            /// Sets the processor that decodes.
            execution: decode_on: $crate::options::Processor,
            /// Limits GPU memory, in bytes, for the whole process.
            execution: device_memory: u64,
            /// Sets whether a GPU reads local files with cuFile.
            execution: direct_io: $crate::options::DirectIo,
            /// Sets whether a GPU decodes with nvCOMP. Enable it only for files you trust.
            execution: nvcomp: $crate::options::Nvcomp,
        }
    };
}

pub(crate) use execution_setters;
pub(crate) use limits;
pub(crate) use optional;
pub(crate) use passed_on;
pub(crate) use strile_engine::setters;
