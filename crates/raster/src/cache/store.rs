//! Blocks by key, bounded in bytes.
//!
//! New blocks wait in a short queue. Those that are requested again move to the main queue, where a block that was
//! requested since its last turn moves to the end once more (S3-FIFO). So blocks that are read once do not displace
//! those that are read often, and finding a block only changes a counter.
//!
//! A small table remembers which blocks were looked for, to detect the second read of a block.

use super::key::Key;
use std::collections::hash_map::Entry as Place;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use strile_engine::{BlockLayout, Spare};

/// Fraction of the limit for new blocks.
const FRESH: u64 = 10;

/// How often a requested block is spared, at most.
const MOST_USES: u8 = 3;

/// Maximum number of remembered blocks that were looked for.
const SOUGHT: usize = 1 << 14;

/// Approximate overhead of an entry, besides its bytes.
pub(super) const BESIDE: u64 = 256;

/// Bytes of a block, which count towards the budget of the process while it lives.
pub(crate) struct Block {
    bytes: Vec<u8>,
    /// The layout that a decoded block was made with.
    layout: Option<Arc<BlockLayout>>,
    _spare: Option<Spare>,
}

impl Block {
    pub(crate) fn new(bytes: Vec<u8>, layout: Option<Arc<BlockLayout>>, spare: Option<Spare>) -> Self {
        Self { bytes, layout, _spare: spare }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    #[cfg(test)]
    pub(crate) fn in_test(bytes: &[u8]) -> Self {
        Self::new(bytes.to_vec(), None, None)
    }

    fn cost(&self) -> u64 {
        (self.bytes.capacity() as u64).saturating_add(BESIDE)
    }
}

struct Kept {
    block: Arc<Block>,
    uses: u8,
    is_fresh: bool,
}

/// Blocks by key.
pub(super) struct Store {
    limit: u64,
    blocks: HashMap<Key, Kept>,
    bytes: u64,
    /// New blocks, oldest first, and their bytes.
    fresh: VecDeque<Key>,
    fresh_bytes: u64,
    /// Blocks that were requested again.
    main: VecDeque<Key>,
    /// Hashes of blocks that were looked for. Empty until the first.
    sought: Vec<u64>,
    hasher: RandomState,
}

/// Removed blocks, to be freed when no lock is held.
pub(super) type Removed = Vec<Arc<Block>>;

impl Store {
    pub(super) fn new(limit: u64) -> Self {
        Self {
            limit,
            blocks: HashMap::new(),
            bytes: 0,
            fresh: VecDeque::new(),
            fresh_bytes: 0,
            main: VecDeque::new(),
            sought: Vec::new(),
            hasher: RandomState::new(),
        }
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Finds a block. A decoded one must have been made with an equal layout.
    pub(super) fn find(&mut self, key: &Key, layout: Option<&Arc<BlockLayout>>) -> Option<Arc<Block>> {
        let kept = self.blocks.get_mut(key)?;
        let is_same = match (&kept.block.layout, layout) {
            (Some(made_by), Some(wanted)) => Arc::ptr_eq(made_by, wanted) || made_by == wanted,
            (None, None) => true,
            _ => false,
        };
        if !is_same {
            return None;
        }
        kept.uses = (kept.uses + 1).min(MOST_USES);
        Some(Arc::clone(&kept.block))
    }

    /// Returns whether a block was looked for before, as far as remembered.
    pub(super) fn was_sought(&self, key: &Key) -> bool {
        let (hash, at) = self.hash(key);
        self.sought.get(at) == Some(&hash)
    }

    /// Remembers that a block was looked for.
    pub(super) fn note(&mut self, key: &Key) {
        if self.sought.is_empty() {
            self.sought = vec![0; SOUGHT];
        }
        let (hash, at) = self.hash(key);
        if let Some(place) = self.sought.get_mut(at) {
            *place = hash;
        }
    }

    /// Returns the hash of a key, which is not 0, and its place.
    fn hash(&self, key: &Key) -> (u64, usize) {
        let hash = self.hasher.hash_one(key) | 1;
        (hash, usize::try_from(hash >> 32).unwrap_or_default() % SOUGHT)
    }

    /// Keeps a block and replaces the one with the same key. Returns the removed blocks.
    pub(super) fn insert(&mut self, key: Key, block: Arc<Block>) -> Removed {
        let cost = block.cost();
        if cost > self.limit {
            return vec![block];
        }
        let mut removed = Removed::new();
        self.bytes = self.bytes.saturating_add(cost);
        match self.blocks.entry(key) {
            Place::Occupied(mut place) => {
                let kept = place.get_mut();
                let old = std::mem::replace(&mut kept.block, block);
                self.bytes = self.bytes.saturating_sub(old.cost());
                if kept.is_fresh {
                    self.fresh_bytes = self.fresh_bytes.saturating_add(cost).saturating_sub(old.cost());
                }
                removed.push(old);
            }
            Place::Vacant(place) => {
                place.insert(Kept { block, uses: 0, is_fresh: true });
                self.fresh.push_back(key);
                self.fresh_bytes = self.fresh_bytes.saturating_add(cost);
            }
        }
        while self.bytes > self.limit {
            let Some(block) = self.remove() else { break };
            removed.push(block);
        }
        removed
    }

    /// Releases `bytes` bytes, or all. Returns the removed blocks.
    pub(super) fn reclaim(&mut self, bytes: u64) -> Removed {
        let goal = self.bytes.saturating_sub(bytes);
        let mut removed = Removed::new();
        while self.bytes > goal {
            let Some(block) = self.remove() else { break };
            removed.push(block);
        }
        removed
    }

    pub(super) fn set_limit(&mut self, limit: u64) -> Removed {
        self.limit = limit;
        self.reclaim(self.bytes.saturating_sub(limit))
    }

    /// Removes the least useful block.
    fn remove(&mut self) -> Option<Arc<Block>> {
        loop {
            let from_fresh = self.fresh_bytes > self.limit / FRESH || self.main.is_empty();
            let key = if from_fresh { self.fresh.pop_front() } else { self.main.pop_front() }?;
            let kept = self.blocks.get_mut(&key)?;
            let cost = kept.block.cost();
            if from_fresh {
                self.fresh_bytes = self.fresh_bytes.saturating_sub(cost);
            }
            if kept.uses > 0 {
                kept.uses = if from_fresh { 0 } else { kept.uses - 1 };
                kept.is_fresh = false;
                self.main.push_back(key);
                continue;
            }
            self.bytes = self.bytes.saturating_sub(cost);
            return self.blocks.remove(&key).map(|kept| kept.block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::{Form, State};
    use super::*;

    fn key(offset: u64) -> Key {
        struct Named;
        impl crate::source::Source for Named {
            fn name(&self) -> &str {
                "named"
            }
            fn len(&self) -> u64 {
                1
            }
            fn version(&self) -> crate::source::Version {
                crate::source::Version { len: 1, mark: String::new() }
            }
            fn submit(
                &self,
                _: Vec<crate::source::ReadOp>,
                _: &std::sync::mpsc::Sender<crate::source::ReadDone>,
                _: &strile_engine::Cancel,
            ) {
            }
            fn local(&self) -> Option<Arc<dyn strile_engine::ReadAt>> {
                None
            }
            fn state(&self) -> Option<String> {
                Some("named".into())
            }
        }
        Key { state: State::of(&Named).unwrap(), offset, len: 1, form: Form::Encoded }
    }

    const EACH: u64 = 1000;

    fn block() -> Arc<Block> {
        Arc::new(Block::in_test(&vec![7; usize::try_from(EACH - BESIDE).unwrap()]))
    }

    fn has(store: &mut Store, offset: u64) -> bool {
        store.blocks.contains_key(&key(offset))
    }

    #[test]
    fn stays_within_its_limit_and_keeps_what_is_asked_for_again() {
        let mut store = Store::new(10 * EACH);
        for offset in 0..5 {
            store.insert(key(offset), block());
            assert!(store.find(&key(offset), None).is_some());
        }
        // A scan of blocks that are read once.
        for offset in 100..1000 {
            store.insert(key(offset), block());
            assert!(store.bytes() <= 10 * EACH && store.bytes() == store.len() as u64 * EACH);
        }
        assert!((0..5).all(|offset| has(&mut store, offset)));
        assert!(has(&mut store, 999) && !has(&mut store, 100));
        // These are removed too when others are requested.
        for offset in 1000..1100 {
            store.insert(key(offset), block());
            store.find(&key(offset), None);
        }
        assert!((0..5).all(|offset| !has(&mut store, offset)));
        assert_eq!(store.reclaim(3 * EACH).len(), 3);
        assert_eq!(store.set_limit(EACH).len(), 6);
        assert_eq!(store.reclaim(u64::MAX).len(), 1);
        assert_eq!((store.bytes(), store.len(), store.fresh_bytes), (0, 0, 0));
        assert!(store.fresh.is_empty() && store.main.is_empty());
        assert_eq!(store.set_limit(EACH - 1).len() + store.insert(key(1), block()).len(), 1);
    }

    #[test]
    fn a_block_of_another_layout_is_replaced() {
        let layout = |samples| Arc::new(BlockLayout::stored(strile_tiff::DataType::U8, (4, 4), samples));
        let mut store = Store::new(10 * EACH);
        let made = |samples| {
            Arc::new(Block::new(vec![u8::try_from(samples).unwrap(); 16], Some(layout(samples)), None))
        };
        store.insert(key(0), made(1));
        assert!(store.find(&key(0), Some(&layout(1))).is_some());
        assert!(store.find(&key(0), Some(&layout(2))).is_none() && store.find(&key(0), None).is_none());
        assert_eq!(store.insert(key(0), made(2)).len(), 1);
        assert_eq!(store.find(&key(0), Some(&layout(2))).unwrap().bytes(), [2; 16]);
        assert_eq!((store.len(), store.bytes(), store.fresh_bytes), (1, 16 + BESIDE, 16 + BESIDE));
    }

    #[test]
    fn remembers_what_was_looked_for() {
        let mut store = Store::new(EACH);
        assert!(!store.was_sought(&key(1)));
        store.note(&key(1));
        assert!(store.was_sought(&key(1)) && !store.was_sought(&key(2)));
        (10..500_000).for_each(|offset| store.note(&key(offset)));
        assert!(!store.was_sought(&key(1)) && store.was_sought(&key(499_999)));
        assert_eq!(store.sought.len(), SOUGHT);
    }
}
