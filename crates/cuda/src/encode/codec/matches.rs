//! Shared by codecs that search for matches: their first passes and scratch. Counterparts of
//! `kernels/matches/match_abi.h`.

use super::Pass;
use strile_engine::portable;

/// Bytes of a block per warp of `chains`; `SEGMENT` of `match_chains.cuh`.
const SEGMENT: u32 = 32 << 10;
/// Bytes of a block per CUDA block of `search` and `runs`; `SEARCHED` of `match_abi.h`.
const SEARCHED: u32 = 16 << 10;
/// Bytes of a part.
pub(super) const PART: u32 = 32 << 10;

const _: () = assert!(PART as usize == portable::PART);

/// Links equal keys.
pub(super) const CHAINS: Pass = Pass { module: "chains", entry: "chains", threads: 32, part: SEGMENT };
/// Finds the match of every position from the chains.
pub(super) const SEARCH: Pass = Pass { module: "search", entry: "search", threads: 1024, part: SEARCHED };
/// Finds only runs, without chains.
pub(super) const RUNS: Pass = Pass { module: "search", entry: "runs", threads: 256, part: SEARCHED };
/// Selects among the matches.
pub(super) const CHOOSE: Pass = Pass { module: "choose", entry: "choose", threads: 512, part: PART };

/// Returns the scratch bytes of these passes, a multiple of 256: a distance and a match per byte, and one bit per byte.
pub(super) fn scratch(len: u32) -> u64 {
    let len = u64::from(len);
    [len * 2, len * 4, len.div_ceil(32) * 4].into_iter().map(|bytes| bytes.next_multiple_of(256)).sum()
}
