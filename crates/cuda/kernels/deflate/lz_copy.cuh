// Copies matches with a group of warps, one match per lane, in rounds.
//
// Matches lie in a queue in order of position; everything that is not a match is in place. A match is ready when no
// match that writes into its source is pending; these matches are found once, by two binary searches. Short matches are
// copied by their lane, all at the same time; long and odd ones by all lanes of a warp, one after the other. One
// barrier per round.
#pragma once
#include "deflate/deflate_walk.cuh"
#include "deflate/lz_output.cuh"

#define LONG_MATCH 24u  // longer matches are copied by a warp

struct Match {
  u32 at;
  u32 len;  // 0: none
  u32 distance;
};

struct alignas(8) QueuedMatch {
  u32 at;
  u32 what;  // the length, and above 16 bits the slot of the distance
};

// Lanes whose matches are pending, in alternating copies.
template <u32 WARPS>
struct Pending {
  u32 lanes[2][WARPS];
};

// Stores the first `count` bytes of `word`, one to four.
DEVICE void put_bytes(u8* to, u32 word, u32 count) {
  to[0] = (u8)word;
  if (count > 1) to[1] = (u8)(word >> 8);
  if (count > 2) to[2] = (u8)(word >> 16);
  if (count > 3) to[3] = (u8)(word >> 24);
}

// Copies one match with one lane, eight bytes at a time, so that the load latency is paid once for all of them. The
// source lies entirely in the page or entirely below it; if it overlaps the match (distance at least 16), the loaded
// bytes have already been written.
DEVICE void copy_far(const Output& out, Match match) {
  u32 from = match.at - match.distance, word = from & ~3u, phase = from * 8;
  u32 last = (from + match.len - 1) & ~3u;
  bool inside = from >= out.origin;
  u8* to = in_page(out, match.at);
  u32 left = match.len;
  uses_bytes(out, from, min(match.len, match.distance));
#pragma unroll 1
  for (;;) {
    u32 next = min(word + 4, last), word0, word1, word2;
    word += 8;
    u32 after = min(word, last);
    if (inside) {
      word0 = partial_load((const u32*)in_page(out, word - 8));
      word1 = partial_load((const u32*)in_page(out, next));
      word2 = partial_load((const u32*)in_page(out, after));
    } else {
      word0 = *(const u32*)(out.bytes + (word - 8));
      word1 = *(const u32*)(out.bytes + next);
      word2 = *(const u32*)(out.bytes + after);
    }
    put_bytes(to, __funnelshift_r(word0, word1, phase), left);
    if (left <= 4) return;
    put_bytes(to + 4, __funnelshift_r(word1, word2, phase), left - 4);
    if (left <= 8) return;
    left -= 8;
    to += 8;
  }
}

// The same for a distance of one, two or three: 48 bits hold every phase of the repeated pattern.
DEVICE void copy_near(const Output& out, Match match) {
  u32 low = bytes_at(out, match.at - match.distance, match.distance), high, phase = 0;
  if (match.distance == 3) {
    high = (low & 0xFFFFFF) >> 8;
    low = (low & 0xFFFFFF) | low << 24;
  } else {
    high = low = match.distance == 1 ? (low & 0xFF) * 0x01010101u : (low & 0xFFFF) * 0x00010001u;
  }
  u8* to = in_page(out, match.at);
#pragma unroll 1
  for (u32 left = match.len;; left -= 4, to += 4) {
    put_bytes(to, __funnelshift_r(low, high, phase), left);
    if (left <= 4) return;
    if (match.distance == 3) phase = phase == 16 ? 0 : phase + 8;
  }
}

// Copies one match with all lanes of a warp: whole words of the page, and the bytes before and after them. Repetitions
// within the match are taken from their first occurrence, which precedes the match.
DEVICE void copy_together(const Output& out, Match match, u32 lane) {
  u32 end = match.at + match.len, source = match.at - match.distance;
  u32 first = (match.at + 3) & ~3u, behind = max(end & ~3u, first);
  bool apart = match.distance >= match.len, inside = source >= out.origin, same = match.distance == 1;
  u32 value = same ? byte_at(out, source) * 0x01010101u : 0;
  // Up to three bytes before the words and up to three after them; a match of less than four may have both.
  u32 odd = lane < 4 ? match.at + lane : behind + lane - 4;
  bool has_odd = lane < 4 ? odd < min(first, end) : lane < 8 && odd < end && odd >= first;
  if (has_odd && !same) {
    u32 offset = odd - match.at;
    value = byte_at(out, source + (apart ? offset : offset % match.distance));
  }
#pragma unroll 1
  for (u32 at = first + lane * 4; at < behind; at += 128) {
    u32 offset = at - match.at, word = 0;
    if (!apart && !same) offset %= match.distance;
    if (same) {
      word = value;
    } else if (offset + 4 <= match.distance) {
      u32 from = source + offset;
      if (inside) {
        const u32* words = (const u32*)in_page(out, from & ~3u);
        word = __funnelshift_r(partial_load(words), partial_load(words + 1), from * 8);
        uses_bytes(out, from, 4);
      } else {
        word = bytes_at(out, from, 4);
      }
    } else {
#pragma unroll 1
      for (u32 i = 0; i < 4; ++i) {
        word |= byte_at(out, source + offset) << i * 8;
        if (++offset == match.distance) offset = 0;
      }
    }
    *(u32*)in_page(out, at) = word;
  }
  if (has_odd) *in_page(out, odd) = (u8)value;
}

// The lanes of warp `warp` whose matches are among `from` to `to` - 1.
template <u32 WARPS>
DEVICE u32 lanes_between(u32 from, u32 to, u32 warp) {
  u32 low = (from + WARPS - 1 - warp) / WARPS, high = (to + WARPS - 1 - warp) / WARPS;
  u32 below_low = low < 32 ? (1u << low) - 1 : 0xFFFFFFFFu;
  u32 below_high = high < 32 ? (1u << high) - 1 : 0xFFFFFFFFu;
  return below_high & ~below_low;
}

// Copies the first `count` matches of `queue`, at most one per thread. Call after a group_sync behind the last write
// into the queue and the page; ends with one. A match that begins before the output is skipped, and `wrong` set. `side`
// is 0 before the first call, and kept between calls.
template <u32 WARPS>
DEVICE void copy_matches(const Output& out, const QueuedMatch* queue, u32 count, Pending<WARPS>& pending,
                         u32& wrong, u32& side, u32 thread) {
  // Warps take matches round-robin: those that are ready together are mostly near each other.
  const u32 threads = 32 * WARPS, lane = thread & 31, warp = thread / 32, index = lane * WARPS + warp;
  Match match = {0, 0, 1};
  if (index < count) {
    QueuedMatch queued = queue[index];
    match = {queued.at, queued.what & 0xFFFF, (queued.what >> 16 & 0x7FFF) + 1};
    if (match.distance > match.at) {
      relaxed_store(&wrong, 1u);
      match.len = 0;
    }
  }
  u32 from = match.at - match.distance, need = from + min(match.len, match.distance);
  bool whole = match.distance < 4 || ((match.distance >= 16 || match.distance >= match.len) &&
                                      (from >= out.origin || from + match.len <= out.origin));
  bool is_short = match.len <= LONG_MATCH && whole;

  // The matches that end behind the beginning of the source, and those that begin before its end.
  u32 low = 0, high = 0;
#pragma unroll
  for (u32 step = threads / 2; step > 0; step >>= 1) {
    // Entries behind `count` are read but not used.
    QueuedMatch before = queue[low + step - 1], after = queue[high + step - 1];
    if (low + step <= index && before.at + (before.what & 0xFFFF) <= from) low += step;
    if (high + step <= index && after.at < need) high += step;
  }
  u32 waits[WARPS], left[WARPS];
#pragma unroll
  for (u32 w = 0; w < WARPS; ++w) {
    waits[w] = lanes_between<WARPS>(low, high, w);
    left[w] = lanes_between<WARPS>(0, count, w);
  }
#pragma unroll 1
  for (;;) {
    u32 blocked = 0, any = 0;
#pragma unroll
    for (u32 w = 0; w < WARPS; ++w) blocked |= waits[w] & left[w];
    bool ready = match.len != 0 && blocked == 0;
    if (ready && is_short) {
      if (match.distance < 4) {
        copy_near(out, match);
      } else {
        copy_far(out, match);
      }
    }
    u32 together = __ballot_sync(ALL_LANES, ready && !is_short);
#pragma unroll 1
    while (together != 0) {
      u32 owner = __ffs(together) - 1;
      Match its = {__shfl_sync(ALL_LANES, match.at, owner), __shfl_sync(ALL_LANES, match.len, owner),
                   __shfl_sync(ALL_LANES, match.distance, owner)};
      copy_together(out, its, lane);
      together &= together - 1;
    }
    if (ready) match.len = 0;
    u32 mine = __ballot_sync(ALL_LANES, match.len != 0);
    if (lane == 0) pending.lanes[side][warp] = mine;
    __syncthreads();
#pragma unroll
    for (u32 w = 0; w < WARPS; ++w) any |= left[w] = pending.lanes[side][w];
    side ^= 1;
    if (any == 0) return;
  }
}
