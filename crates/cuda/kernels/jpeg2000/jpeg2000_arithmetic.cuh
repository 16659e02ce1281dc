// The arithmetic decoder of ISO 15444-1, annex C, on plain bits (`jpeg2000_unstuff.cuh`). The code register has 64
// bits: the 16 that are compared on top, and the following ones below, refilled one word at a time.
//
// A context is a word: its probability in the high half, and the place of its successors in the table of moves; bit 7
// of that place is the more probable symbol. Raw bits are a context too, one of probability 1/2 that never moves: the
// same comparison yields the bit, and a raw segment begins like an arithmetic one.
#pragma once
#include "jpeg2000/jpeg2000_abi.h"

namespace jpeg2000 {

enum Context : u32 { REFINED = 16, RUN = 17, UNIFORM = 18, RAW = 19, CONTEXTS = 20 };
enum : u32 { STATES = 47, MOVES = 192, WARP = 32 };

struct Estimate {
  u16 probability;
  u8 more, less;  // next state after the more and the less probable symbol
};

// Table C.2; 0x80: the symbols are exchanged.
CONSTANT Estimate ESTIMATES[STATES] = {
    {0x5601, 1, 1 | 0x80},   {0x3401, 2, 6},   {0x1801, 3, 9},   {0x0AC1, 4, 12},  {0x0521, 5, 29},
    {0x0221, 38, 33},        {0x5601, 7, 6 | 0x80}, {0x5401, 8, 14}, {0x4801, 9, 14},  {0x3801, 10, 14},
    {0x3001, 11, 17},        {0x2401, 12, 18}, {0x1C01, 13, 20}, {0x1601, 29, 21}, {0x5601, 15, 14 | 0x80},
    {0x5401, 16, 14},        {0x5101, 17, 15}, {0x4801, 18, 16}, {0x3801, 19, 17}, {0x3401, 20, 18},
    {0x3001, 21, 19},        {0x2801, 22, 19}, {0x2401, 23, 20}, {0x2201, 24, 21}, {0x1C01, 25, 22},
    {0x1801, 26, 23},        {0x1601, 27, 24}, {0x1401, 28, 25}, {0x1201, 29, 26}, {0x1101, 30, 27},
    {0x0AC1, 31, 28},        {0x09C1, 32, 29}, {0x08A1, 33, 30}, {0x0521, 34, 31}, {0x0441, 35, 32},
    {0x02A1, 36, 33},        {0x0221, 37, 34}, {0x0141, 38, 35}, {0x0111, 39, 36}, {0x0085, 40, 37},
    {0x0049, 41, 38},        {0x0025, 42, 39}, {0x0015, 43, 40}, {0x0009, 44, 41}, {0x0005, 45, 42},
    {0x0001, 45, 43},        {0x5601, 46, 46},
};

// Byte offset of the moves of a state, two words each.
DEVICE u32 moves_of(u32 state, u32 symbol) { return (state >> 4) << 8 | symbol << 7 | (state & 15) << 3; }

// The context of state `state` with the more probable symbol `symbol`.
DEVICE u32 context_word(u32 state, u32 symbol) {
  return (u32)ESTIMATES[state].probability << 16 | moves_of(state, symbol);
}

// The state behind the last one.
DEVICE u32 raw_word() { return 0x4000u << 16 | moves_of(STATES, 1); }

// Entry `at` of the table of moves: the contexts after the more and the less probable symbol.
DEVICE u32 move_of(u32 at) {
  const u32 state = at / 64 * 16 + at / 2 % 16, symbol = at / 32 & 1;
  if (state >= STATES) return raw_word();
  const Estimate estimate = ESTIMATES[state];
  if ((at & 1) == 0) return context_word(estimate.more, symbol);
  return context_word(estimate.less & 0x7F, symbol ^ (estimate.less >> 7));
}

// Table D.7.
DEVICE u32 first_word(u32 context) {
  if (context == RAW) return raw_word();
  return context_word(context == 0 ? 4 : context == RUN ? 3 : context == UNIFORM ? 46 : 0, 0);
}

struct Decoder {
  u64 code;
  u32 interval;      // in the high half
  u32 held;          // bits of the code below the highest 16; no decision with less than 16
  u32 ahead;         // the next word
  u32 full;          // whether `ahead` is valid
  u32 staged;        // the word after it, possibly still being loaded
  const u32* words;  // the one after that
  const u32* last;   // all ones, like the words that would follow
};

DEVICE u32 next_word(Decoder& decoder) {
  const u32 word = __ldg(decoder.words);
  decoder.words += decoder.words != decoder.last;
  return word;
}

DEVICE void begin(Decoder& decoder, const Jpeg2000Segment& segment) {
  decoder.words = (const u32*)segment.words;
  decoder.last = decoder.words + (segment.len + 3) / 4;
  decoder.code = (u64)next_word(decoder) << 31;
  decoder.held = 17;
  decoder.ahead = next_word(decoder);
  decoder.staged = next_word(decoder);
  decoder.full = 1;
  decoder.interval = 0x80000000u;
}

DEVICE void use_ahead(Decoder& decoder) {
  if (decoder.held < 16 && decoder.full != 0) {
    decoder.code |= (u64)decoder.ahead << (16 - decoder.held);
    decoder.held += 32;
    decoder.full = 0;
  }
}

// Supplies the word ahead if it was used up. The load made here is for the next call: a load of one lane stalls the
// whole warp when its register is used.
DEVICE void supply(Decoder& decoder) {
  if (decoder.full == 0) {
    decoder.ahead = decoder.staged;
    decoder.staged = next_word(decoder);
    decoder.full = 1;
  }
}

// Makes one decision in the context of `cell`, inverted if `flip` has bit 7 set.
DEVICE u32 decide(Decoder& decoder, SharedAddress cell, SharedAddress moves, u32 flip) {
  const u32 state = shared_load(cell);
  const u32 least = state & 0xFFFF0000u;
  const u32 rest = decoder.interval - least;
  u32 high = (u32)(decoder.code >> 32);
  const bool lower = high < least;
  const u32 unlikely = lower != (rest < least) ? 1 : 0;
  const u32 interval = lower ? least : rest;
  if (!lower) high -= least;
  const u32 shift = zeros_above(interval);
  // Stored even if the state does not change: a branch costs more.
  const u32 moved = shared_load(moves + (state & 0x3F8) + unlikely * 4);
  shared_store(cell, shift != 0 ? moved : state);
  decoder.interval = interval << shift;
  decoder.code = ((u64)high << 32 | (u32)decoder.code) << shift;
  decoder.held -= shift;
  use_ahead(decoder);
  return ((state ^ flip) >> 7 & 1) ^ unlikely;
}

}  // namespace jpeg2000
