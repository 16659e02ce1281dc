//! Memory that several reads fill at once and that is rejoined into one piece afterwards.
//!
//! `Arena::split` returns disjoint slots to hand to threads; once all are dropped, `ArenaParts::rejoin` returns the
//! arena. A filled slot can become an arena before the others are filled (`Slot::into_arena`). The engine chooses the
//! memory: a GPU engine uses pinned memory.

#![expect(unsafe_code, reason = "disjoint windows of one allocation, filled by many threads")]

use std::any::Any;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Memory for encoded bytes.
pub struct Arena {
    memory: Arc<Memory>,
    offset: usize,
    len: usize,
}

/// The remaining arena while its slots are in use.
pub struct ArenaParts {
    memory: Arc<Memory>,
    offset: usize,
    len: usize,
}

/// A part of an arena with exclusive access.
pub struct Slot {
    memory: Arc<Memory>,
    offset: usize,
    len: usize,
}

struct Memory {
    start: *mut u8,
    _owner: Box<dyn Any + Send + Sync>,
}

// SAFETY: the memory is accessed only through arenas, which are read-only, and through slots; all of them are disjoint.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Default for Arena {
    fn default() -> Self {
        Self::from_vec(Vec::new())
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len)
    }
}

impl Arena {
    /// Returns an arena in ordinary memory.
    pub fn from_vec(mut bytes: Vec<u8>) -> Self {
        let (start, len) = (bytes.as_mut_ptr(), bytes.len());
        Self { memory: Arc::new(Memory { start, _owner: Box::new(bytes) }), offset: 0, len }
    }

    /// Returns an arena over memory that is freed when `owner` is dropped.
    ///
    /// # Safety
    /// `start` must be valid for reads and writes of `len` initialised bytes while `owner` lives, and `owner` must not
    /// touch them.
    pub unsafe fn from_raw(start: *mut u8, len: usize, owner: Box<dyn Any + Send + Sync>) -> Self {
        Self { memory: Arc::new(Memory { start, _owner: owner }), offset: 0, len }
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: inside the memory; no slot overlaps the bytes of an arena, so they are not written.
        unsafe { std::slice::from_raw_parts(self.memory.start.add(self.offset), self.len) }
    }

    /// Splits the arena into consecutive slots of the given lengths; `None` if they do not fit.
    pub fn split(self, lens: &[usize]) -> Option<(ArenaParts, Vec<Slot>)> {
        let Self { memory, offset: start, len: whole } = self;
        let mut offset = start;
        let mut slots = Vec::with_capacity(lens.len());
        for &len in lens {
            let end = offset.checked_add(len).filter(|&end| end - start <= whole)?;
            slots.push(Slot { memory: Arc::clone(&memory), offset, len });
            offset = end;
        }
        Some((ArenaParts { memory, offset: start, len: whole }, slots))
    }
}

impl ArenaParts {
    /// Returns the arena once every slot, and every arena made of a slot, has been dropped.
    pub fn rejoin(self) -> Result<Arena, ArenaParts> {
        let Self { memory, offset, len } = self;
        // `try_unwrap` also makes what other threads wrote before they dropped their slots visible here.
        match Arc::try_unwrap(memory) {
            Ok(memory) => Ok(Arena { memory: Arc::new(memory), offset, len }),
            Err(memory) => Err(Self { memory, offset, len }),
        }
    }
}

impl Slot {
    /// Turns the slot into an arena; its bytes are read-only from then on.
    pub fn into_arena(self) -> Arena {
        let Self { memory, offset, len } = self;
        Arena { memory, offset, len }
    }

    /// Cuts the slot in two; the first has at most `len` bytes.
    pub fn cut(self, len: usize) -> (Slot, Slot) {
        let Self { memory, offset, len: whole } = self;
        let len = len.min(whole);
        let later = Self { memory: Arc::clone(&memory), offset: offset + len, len: whole - len };
        (Self { memory, offset, len }, later)
    }

    /// Joins this slot with the one directly after it; returns both if they are not adjacent.
    pub fn join_next(self, next: Slot) -> Result<Slot, (Slot, Slot)> {
        match Arc::ptr_eq(&self.memory, &next.memory) && self.offset + self.len == next.offset {
            true => Ok(Self { len: self.len + next.len, ..self }),
            false => Err((self, next)),
        }
    }
}

impl Deref for Slot {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `split` made slots disjoint and inside the memory, and no arena overlaps a slot.
        unsafe { std::slice::from_raw_parts(self.memory.start.add(self.offset), self.len) }
    }
}

impl DerefMut for Slot {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; the slot is borrowed mutably, so no other reference to its bytes exists.
        unsafe { std::slice::from_raw_parts_mut(self.memory.start.add(self.offset), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_fill_from_threads_and_rejoin() {
        let (parts, slots) = Arena::from_vec(vec![9; 10]).split(&[3, 0, 4]).unwrap();
        let mut parts = Some(parts);
        std::thread::scope(|scope| {
            for (value, mut slot) in (1u8..).zip(slots) {
                scope.spawn(move || slot.fill(value));
            }
        });
        let arena = parts.take().unwrap().rejoin().ok().unwrap();
        assert_eq!(arena.bytes(), [1, 1, 1, 3, 3, 3, 3, 9, 9, 9]);
    }

    #[test]
    fn a_slot_is_cut_and_joined() {
        let (parts, slots) = Arena::from_vec(vec![0; 6]).split(&[1, 5]).unwrap();
        let [first, second] = <[Slot; 2]>::try_from(slots).ok().unwrap();
        let (mut a, b) = second.cut(2);
        let (mut b, c) = b.cut(9);
        a.fill(1);
        b.fill(2);
        assert_eq!((a.len(), b.len(), c.len()), (2, 3, 0));
        let (first, b) = first.join_next(b).err().unwrap();
        let whole = a.join_next(b).and_then(|joined| joined.join_next(c)).ok().unwrap();
        assert_eq!(*whole, [1, 1, 2, 2, 2]);
        drop((first, whole));
        assert_eq!(parts.rejoin().ok().unwrap().bytes(), [0, 1, 1, 2, 2, 2]);
    }

    #[test]
    fn a_slot_becomes_an_arena_while_others_are_filled() {
        let (parts, slots) = Arena::from_vec(vec![0; 6]).split(&[2, 4]).unwrap();
        let [mut first, mut second] = <[Slot; 2]>::try_from(slots).ok().unwrap();
        second.fill(2);
        let second = second.into_arena();
        first.fill(1);
        assert_eq!(second.bytes(), [2; 4]);
        drop(first);
        let parts = parts.rejoin().err().unwrap();
        let (inner, slots) = second.split(&[1, 3]).unwrap();
        let [mut left, right] = <[Slot; 2]>::try_from(slots).ok().unwrap();
        left.fill(3);
        drop((left, right, inner));
        assert_eq!(parts.rejoin().ok().unwrap().bytes(), [1, 1, 3, 2, 2, 2]);
        let (_parts, slots) = Arena::from_vec(vec![0; 4]).split(&[2, 2]).unwrap();
        let last = slots.into_iter().next_back().unwrap().into_arena();
        assert!(last.split(&[3]).is_none());
    }

    #[test]
    fn does_not_rejoin_while_a_slot_is_out() {
        let (parts, slots) = Arena::from_vec(vec![0; 4]).split(&[4]).unwrap();
        let parts = parts.rejoin().err().unwrap();
        drop(slots);
        assert!(parts.rejoin().is_ok());
        assert!(Arena::from_vec(vec![0; 4]).split(&[5]).is_none());
        assert!(Arena::from_vec(vec![0; 4]).split(&[4, usize::MAX]).is_none());
    }
}
