//! The bytes of one stream on the host: read for it alone, or a part of what was staged for many.

use std::ops::{Deref, Range};
use std::sync::Arc;
use strile_engine::Arena;

/// See the module. Clones are the same bytes.
#[derive(Debug, Clone)]
pub struct Bytes(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Own(Arc<Vec<u8>>),
    Part(Arc<Arena>, Range<usize>),
}

impl Bytes {
    /// A part of an arena; `None` where it leaves the arena.
    pub fn part(arena: &Arc<Arena>, range: Range<usize>) -> Option<Self> {
        arena.bytes().get(range.clone())?;
        Some(Self(Kind::Part(Arc::clone(arena), range)))
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Kind::Own(Arc::new(bytes)))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Kind::Own(bytes) => bytes,
            Kind::Part(arena, range) => arena.bytes().get(range.clone()).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_what_it_names_and_nothing_outside_is_had() {
        let arena = Arc::new(Arena::from_vec((0..10).collect()));
        assert_eq!(Bytes::part(&arena, 3..6).as_deref(), Some(&[3, 4, 5][..]));
        assert!(Bytes::part(&arena, 3..11).is_none());
        assert_eq!(Bytes::from(vec![7, 8]).clone().to_vec(), [7, 8]);
    }
}
