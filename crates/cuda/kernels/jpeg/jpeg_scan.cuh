// Decodes the coefficients of one scan with one CUDA block whose threads start at guessed places.
//
// Threads take pieces of the scan, a window of one piece per thread at a time. The first thread of a window knows the
// state at its piece, as does any thread whose piece begins an interval. Every other thread starts `run_in` bits
// earlier as if a data unit began there; codes synchronise by themselves, so its state is mostly right at the beginning
// of its piece. This is then checked: the state in which a thread ends must be that in which the next one began;
// otherwise the next one decodes again from there, until all agree. Each round makes at least one more thread right, so
// there are no more rounds than threads. Prefix sums of the ended data units then give the place of all output, and the
// window is decoded again, this time to write.
//
// Writes only within the scan's data units: the number of units is checked first. Leaves DC as differences.
#pragma once
#include "block_scan.cuh"
#include "jpeg/jpeg_codes.cuh"
#include "lines.cuh"

namespace jpeg {

const u32 SCAN_THREADS = 128;
// 16-byte lines of a window: its pieces, up to 15 bytes before, and the bytes read ahead of the last code.
const u32 WINDOW_LINES = SCAN_THREADS * JPEG_MOST_PIECE / LINE + 3;

// By zigzag index: place of a coefficient in a data unit that is stored column by column.
CONSTANT u8 COLUMN_ORDER[64] = {0,  8,  1,  2,  9,  16, 24, 17, 10, 3,  4,  11, 18, 25, 32, 40, 33, 26, 19, 12, 5, 6,
                                13, 20, 27, 34, 41, 48, 56, 49, 42, 35, 28, 21, 14, 7,  15, 22, 29, 36, 43, 50, 57, 58,
                                51, 44, 37, 30, 23, 31, 38, 45, 52, 59, 60, 53, 46, 39, 47, 54, 61, 62, 55, 63};

struct ScanShared {
  alignas(16) Line bits[WINDOW_LINES];
  alignas(16) u16 tables[JPEG_TABLE_ENTRIES];
  u32 lookups[JPEG_MOST_UNITS];
  u16 order[64];
  State ends[SCAN_THREADS];
  u32 warp_sums[SCAN_THREADS / 32];
  u32 fault;
};

// A thread's piece.
struct Piece {
  u32 begin, until;  // bits
  u32 interval;
  u32 interval_begin, interval_end;  // bits
  bool is_first, is_last;            // within its interval
};

DEVICE Piece piece_of(const JpegScan& scan, u32 number) {
  const JpegPiece* pieces = (const JpegPiece*)scan.pieces;
  const u32* intervals = (const u32*)scan.intervals;
  JpegPiece mine = pieces[number], next = pieces[number + 1];
  u32 from = intervals[mine.interval], to = intervals[mine.interval + 1];
  return {mine.begin * 8, next.begin * 8, mine.interval, from * 8, to * 8, mine.begin == from,
          next.interval != mine.interval};
}

DEVICE u32 swapped(u32 word) { return __byte_perm(word, 0, 0x0123); }

// Copies the bytes from `line` (of 16 bytes of the scan's data) up to `end`, and 16 more, into shared memory.
DEVICE void stage(ScanShared& shared, const JpegScan& scan, u32 line, u32 end) {
  const Line* data = (const Line*)scan.data + line;
  u32 count = (end + 16 + LINE - 1) / LINE - line;
  for (u32 i = threadIdx.x; i < count; i += SCAN_THREADS) {
    Line loaded = data[i];
#pragma unroll
    for (int k = 0; k < 4; ++k) loaded.words[k] = swapped(loaded.words[k]);
    shared.bits[i] = loaded;
  }
}

// State carried from one window to the next.
struct Carry {
  State state;
  u32 units;  // data units that ended
};

// Result of a thread's piece: the states at `begin` and `end`.
struct Walked {
  State begin, end;
  Passed passed;
};

// Decodes all pieces of a window until their states agree. Called by all threads.
DEVICE Walked agree(ScanShared& shared, const JpegScan& scan, const Codes& codes, const Piece& piece, bool active,
                    const Carry& carry, u32 first_interval) {
  const u32 thread = threadIdx.x;
  const bool known = piece.is_first || thread == 0;
  Walked mine = {{0, 0, 0}, {0, 0, 0}, {0, 0}};
  if (active) {
    State start = {piece.begin, 0, 0};
    if (!piece.is_first) {
      start.bit = piece.begin - min(piece.begin - piece.interval_begin, scan.run_in);
      bool before_window = piece.interval == first_interval && start.bit <= carry.state.bit;
      if (thread == 0 || before_window) start = carry.state;
    }
    if (!known) walk<false>(codes, start, piece.begin, piece.interval_end, {});
    mine.begin = start;
  }
  bool again = active;
  for (;;) {
    if (again) {
      mine.end = mine.begin;
      mine.passed = walk<false>(codes, mine.end, piece.until, piece.interval_end, {});
      shared.ends[thread] = mine.end;
    }
    __syncthreads();
    again = false;
    if (active && !known) {
      State before = shared.ends[thread - 1];
      again = !same(before, mine.begin);
      mine.begin = before;
    }
    if (__syncthreads_or(again) == 0) return mine;
  }
}

// Fault of a piece after which `after` data units of the scan have ended.
DEVICE u32 fault_of(const JpegScan& scan, const Piece& piece, const Walked& mine, u32 after) {
  if (mine.passed.wrong != 0) return FAULT_CORRUPT;
  u32 limit = min((piece.interval + 1) * scan.interval_units, scan.units);
  u32 begun = after + (mine.end.index != 0 ? 1 : 0);
  if (begun > limit) return FAULT_CORRUPT;
  if (!piece.is_last) return FAULT_NONE;
  if (after != limit) return FAULT_INPUT_TRUNCATED;
  return piece.interval_end - mine.end.bit < 8 ? FAULT_NONE : FAULT_CORRUPT;
}

// Fills the data units from `from` up to `to` with zeros. Called by all threads.
DEVICE void clear(const JpegScan& scan, u32 from, u32 to) {
  const u32 lines = JPEG_UNIT_LEN / LINE;
  Line* begin = (Line*)scan.coefficients + (u64)from * lines;
  const Line zero = {{0, 0, 0, 0}};
  for (u32 i = threadIdx.x; i < (to - from) * lines; i += SCAN_THREADS) begin[i] = zero;
}

// Decodes a scan; all threads return the same fault.
DEVICE u32 decode_scan(ScanShared& shared, const JpegScan& scan) {
  const u32 thread = threadIdx.x;
  const u32* tables = (const u32*)scan.tables;
  for (u32 i = thread; i < scan.table_entries / 2; i += SCAN_THREADS) ((u32*)shared.tables)[i] = tables[i];
  if (thread < JPEG_MOST_UNITS) shared.lookups[thread] = scan.lookups[thread];
  if (thread < 64) shared.order[thread] = COLUMN_ORDER[thread];
  if (thread == 0) shared.fault = FAULT_NONE;
  Codes codes = {shared_address(shared.tables), shared_address(shared.lookups), shared_address(shared.order), 0,
                 scan.mcu_units};
  Carry carry = {{0, 0, 0}, 0};
  for (u32 first = 0; first < scan.piece_count; first += SCAN_THREADS) {
    const u32 count = min(scan.piece_count - first, SCAN_THREADS);
    const bool active = thread < count;
    const Piece piece = piece_of(scan, first + min(thread, count - 1));
    const Piece leader = piece_of(scan, first);
    if (leader.is_first) carry.state = {leader.begin, 0, 0};
    const u32 line = carry.state.bit / (8 * LINE);
    stage(shared, scan, line, ((const JpegPiece*)scan.pieces)[first + count].begin);
    codes.bits = shared_address(shared.bits) - line * LINE;
    __syncthreads();
    const Walked mine = agree(shared, scan, codes, piece, active, carry, leader.interval);
    const Prefix ended = block_prefix<SCAN_THREADS / 32>(active ? mine.passed.units : 0, shared.warp_sums);
    const u32 before = carry.units + ended.before;
    if (active) {
      u32 fault = fault_of(scan, piece, mine, before + mine.passed.units);
      if (fault != FAULT_NONE) atomicMax(&shared.fault, fault);
    }
    __syncthreads();
    if (shared.fault != FAULT_NONE) return shared.fault;
    const Carry next = {shared.ends[count - 1], carry.units + ended.total};
    clear(scan, carry.units + (carry.state.index != 0 ? 1 : 0), next.units + (next.state.index != 0 ? 1 : 0));
    __syncthreads();
    if (active) {
      State state = mine.begin;
      walk<true>(codes, state, piece.until, piece.interval_end,
                 {(i16*)scan.coefficients, (i16*)scan.differences, before});
    }
    carry = next;
    __syncthreads();
  }
  return FAULT_NONE;
}

}  // namespace jpeg
