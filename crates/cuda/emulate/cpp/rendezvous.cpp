// Warp collectives and barriers: a thread says what it came for and waits; the last to come works out
// everyone's result. As on the device (Volta on), lanes meet by mask and instruction, wherever in the program
// they are; a lane that a mask names and that has exited, or a lane not named by its own mask, is an error;
// lanes that never meet are a deadlock, which the scheduler sees.
#include "block.h"

namespace emulate {

const char* name_of(Op op) {
  static const char* const names[] = {
      "__syncwarp",       "__shfl_sync",       "__shfl_up_sync",      "__shfl_down_sync", "__shfl_xor_sync",
      "__ballot_sync",    "__any_sync",        "__all_sync",          "__match_any_sync", "__syncthreads",
      "__syncthreads_or", "__syncthreads_and", "__syncthreads_count", "bar_sync",         "bar_arrive"};
  return names[op];
}

// What lane `lane` gets from a shuffle: the value of another lane of the mask, its own where the source is
// outside its segment, garbage where the source takes no part (the device says undefined).
static u64 shuffled(const Thread* lanes, u32 lane, u32 mask) {
  const Thread& t = lanes[lane];
  u32 first = lane & ~(t.width - 1), last = first + t.width - 1, source = lane;
  switch (t.op) {
    case SHFL:
      source = first + (t.argument & (t.width - 1));
      break;
    case SHFL_UP:
      if (lane >= first + t.argument) source = lane - t.argument;
      break;
    case SHFL_DOWN:
      if (t.argument < 32 && lane + t.argument <= last) source = lane + t.argument;
      break;
    default:
      source = lane ^ t.argument;
      if (t.argument >= 32 || source > last) source = lane;
  }
  return mask >> source & 1 ? lanes[source].value : next_random();
}

static void complete_warp(u32 warp, u32 mask) {
  Thread* lanes = block.threads + warp * 32;
  u32 votes = 0;
  for (u32 i = 0; i < 32; i++) {
    if (mask >> i & 1 && lanes[i].value != 0) votes |= 1u << i;
  }
  for (u32 i = 0; i < 32; i++) {
    if (!(mask >> i & 1)) continue;
    switch (lanes[i].op) {
      case SYNCWARP:
        break;
      case BALLOT:
        lanes[i].result = votes;
        break;
      case ANY:
        lanes[i].result = votes != 0;
        break;
      case ALL:
        lanes[i].result = votes == mask;
        break;
      case MATCH_ANY:
        lanes[i].result = 0;
        for (u32 j = 0; j < 32; j++) {
          if (mask >> j & 1 && lanes[j].value == lanes[i].value) lanes[i].result |= 1ull << j;
        }
        break;
      default:
        lanes[i].result = shuffled(lanes, i, mask);
    }
  }
  block.arrived[warp] &= ~mask;
  for (u32 i = 0; i < 32; i++) {
    if (mask >> i & 1) make_ready(warp * 32 + i);
  }
}

static const char* file_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// The meeting that lanes wait at for the same reason, or null.
static Meeting* meeting_of(Op op, u32 mask, u32 warp) {
  for (u32 lanes = block.arrived[warp] & mask; lanes != 0; lanes &= lanes - 1) {
    const Thread& other = block.threads[warp * 32 + (u32)__builtin_ctz(lanes)];
    if (other.op == op && other.mask == mask) return other.meeting;
  }
  return nullptr;
}

u64 warp(Op op, u32 mask, u64 value, u32 argument, u32 width, const char* file, int line) {
  u32 self = block.current, warp = self / 32, lane = self % 32;
  if (!(mask >> lane & 1)) {
    fail("%s: mask %08x does not name the calling lane (%s:%d)", name_of(op), mask, file_name(file), line);
  }
  if (mask & block.gone[warp]) {
    fail("%s: mask %08x names lanes that have exited, %08x (%s:%d)", name_of(op), mask,
         mask & block.gone[warp], file_name(file), line);
  }
  if (width != 1 && width != 2 && width != 4 && width != 8 && width != 16 && width != 32) {
    fail("%s: width %u is no power of two up to 32 (%s:%d)", name_of(op), width, file_name(file), line);
  }
  block.in_kernel = false;
  Thread& t = block.threads[self];
  t.state = AT_WARP;
  t.op = op;
  t.mask = mask;
  t.argument = argument;
  t.width = width;
  t.value = value;
  t.file = file;
  t.line = line;
  // Shuffles and votes wait for each other, too, but order no accesses to memory.
  t.meeting = op == SYNCWARP ? meeting_of(op, mask, warp) : nullptr;
  if (op == SYNCWARP) races::arrive(t.meeting);
  block.arrived[warp] |= 1u << lane;
  if ((block.arrived[warp] & mask) == mask) {
    bool meet = true;
    for (u32 i = 0; i < 32; i++) {
      const Thread& other = block.threads[warp * 32 + i];
      if (mask >> i & 1 && (other.op != op || other.mask != mask)) meet = false;
    }
    if (meet) complete_warp(warp, mask);
  }
  wait();
  if (op == SYNCWARP) races::leave(t.meeting, true);
  return t.result;
}

static void release(u32 id) {
  Barrier& b = block.barriers[id];
  u32 predicates = b.predicates, arrived = b.arrived;
  b = Barrier{};
  for (u32 warp = 0; warp * 32 < block.count; warp++) {
    const Thread* first = nullptr;
    for (u32 i = warp * 32; i < block.count && i < warp * 32 + 32; i++) {
      Thread& t = block.threads[i];
      if (t.state != AT_BARRIER || t.argument != id) continue;
      if (first != nullptr && (first->op != t.op || first->file != t.file || first->line != t.line)) {
        fail("divergent barrier: lanes of warp %u came to it at lines %d and %d", warp, first->line, t.line);
        describe_threads();
        return;
      }
      first = &t;
    }
  }
  for (u32 i = 0; i < block.count; i++) {
    Thread& t = block.threads[i];
    if (t.state != AT_BARRIER || t.argument != id) continue;
    t.result = t.op == SYNCTHREADS_OR    ? predicates != 0
               : t.op == SYNCTHREADS_AND ? predicates == arrived
                                         : predicates;
    make_ready(i);
  }
}

static bool complete(const Barrier& b) {
  return b.arrived > 0 && b.arrived == (b.expected == 0 ? block.live : b.expected);
}

u32 barrier(Op op, u32 id, u32 threads, bool predicate, const char* file, int line) {
  u32 self = block.current;
  bool named = op == BAR_SYNC || op == BAR_ARRIVE;
  if (id >= BARRIERS) fail("%s: no barrier %u, a block has 16 (%s:%d)", name_of(op), id, file, line);
  if (named && (threads == 0 || threads % 32 != 0 || threads > block.count)) {
    fail("%s: %u threads are no number of whole warps of this block (%s:%d)", name_of(op), threads, file,
         line);
  }
  Barrier& b = block.barriers[id];
  if (b.arrived > 0 && b.expected != threads) {
    fail("%s: barrier %u waits for %u threads (0: all), not %u (%s:%d)", name_of(op), id, b.expected, threads,
         file, line);
  }
  block.in_kernel = false;
  b.expected = threads;
  b.arrived++;
  b.predicates += predicate;
  Thread& t = block.threads[self];
  t.op = op;
  t.mask = 0;
  t.argument = id;
  t.width = threads;
  t.file = file;
  t.line = line;
  races::arrive(b.meeting);
  t.meeting = b.meeting;
  if (op == BAR_ARRIVE) {
    make_ready(self);
  } else {
    t.state = AT_BARRIER;
  }
  if (complete(b)) release(id);
  wait();
  races::leave(t.meeting, op != BAR_ARRIVE);
  return (u32)t.result;
}

void thread_exited(u32 self) {
  u32 warp = self / 32, lane = self % 32;
  block.threads[self].state = EXITED;
  block.gone[warp] |= 1u << lane;
  block.live--;
  for (u32 i = warp * 32; i < block.count && i < warp * 32 + 32; i++) {
    const Thread& t = block.threads[i];
    if (t.state == AT_WARP && t.mask >> lane & 1) {
      fail("thread %u exited while lane %u waits for it at %s, mask %08x (%s:%d)", self, i % 32,
           name_of(t.op), t.mask, t.file, t.line);
      return;
    }
  }
  if (block.live > 0 && block.barriers[0].expected == 0 && complete(block.barriers[0])) release(0);
}

}  // namespace emulate
