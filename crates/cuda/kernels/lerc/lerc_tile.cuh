// Decodes an image block from its blob with one CUDA block. All threads check the checksum and unpack the mask; then
// one warp walks over the headers of units and stores their positions in lists, while the others write the units of the
// previous list.
//
// Left to the host, by a fault: versions 1 and 2, blobs that do not hold exactly the samples of the block, Huffman
// codes of floats or with a mask, differences between samples, masks of other blobs, and everything that is not plainly
// correct.
#pragma once
#include "copy.cuh"
#include "lerc/lerc_checksum.cuh"
#include "lerc/lerc_huffman.cuh"

namespace lerc {

const u32 LIST = 96;

// Coding of samples that are not stored raw.
enum Mode : u32 { MODE_UNITS = 0, MODE_DIFFERENCES = 1, MODE_CODES = 2 };

struct Lists {
  Window window;
  u32 positions[2][LIST];
  u32 ranks[THREADS];
};

struct Shared {
  Blob blob;
  u32 parts[2 * WARPS];
  union {
    Lists lists;
    Huffman huffman;
  };
};

// Destination of samples, and the values of those that the mask excludes.
struct Target {
  u8* out;
  const u8* mask;  // null if all pixels are valid
  u64 missing;
};

// Writes the units whose positions are in a list; the first of them is unit `first`. Called by all warps except the
// first.
struct WriteUnits {
  const Blob& blob;
  const Target& target;
  const u32* list;
  u32 first, count;
};

template <class T>
DEVICE bool write(const WriteUnits& work, T* out) {
  const Target& target = work.target;
  bool good = true;
#pragma unroll 1
  for (u32 i = threadIdx.x / 32 - 1; i < work.count; i += WARPS - 1) {
    const u32 lane = threadIdx.x % 32, unit = work.first + i;
    good = write_unit(work.blob, target.mask, unit, work.list[i], target.missing, out, lane) && good;
  }
  return good;
}

// Writes samples that are equal at every valid pixel. Called by all threads.
struct WriteConstants {
  const Blob& blob;
  const Target& target;
};

template <class T>
DEVICE bool write(const WriteConstants& work, T* out) {
  const Blob& blob = work.blob;
  const u8* mask = work.target.mask;
#pragma unroll 1
  for (u32 i = threadIdx.x; i < blob.pixels * blob.depth; i += THREADS) {
    const u32 pixel = i / blob.depth;
    T sample;
    if (blob.valid == 0 || (mask != nullptr && !is_valid(mask, pixel))) {
      from_bits(work.target.missing, sample);
    } else {
      convert(blob.constant ? blob.z_max : most_of(blob, i - pixel * blob.depth), sample);
    }
    out[i] = sample;
  }
  return true;
}

// Writes samples of the blob's type.
template <class Work>
DEVICE bool write_typed(const Work& work) {
  u8* out = work.target.out;
  switch (work.blob.type) {
    case SAMPLE_I8: return write(work, (i8*)out);
    case SAMPLE_U8: return write(work, out);
    case SAMPLE_I16: return write(work, (i16*)out);
    case SAMPLE_U16: return write(work, (u16*)out);
    case SAMPLE_I32: return write(work, (i32*)out);
    case SAMPLE_U32: return write(work, (u32*)out);
    case SAMPLE_F32: return write(work, (float*)out);
    default: return write(work, (double*)out);
  }
}

// Returns whether all ranges are valid, and whether each is a single value. Called by all threads, which return the
// same.
DEVICE bool are_ranges_right(const Blob& blob, bool& single) {
  bool wrong = false, several = false;
  for (u32 i = threadIdx.x; i < blob.depth; i += THREADS) {
    const u8* at = blob.src + blob.ranges + i * blob.size;
    const double least = to_real(blob.type, number(at, blob.size)), most = most_of(blob, i);
    wrong = wrong || !is_finite(least) || !is_finite(most) || least > most;
    several = several || least != most;
  }
  wrong = __syncthreads_or(wrong);
  single = !__syncthreads_or(several);
  return !wrong;
}

// Lists the positions of units from `at` on; false if a unit is invalid. Called by all lanes of the first warp.
struct Units {
  Walk walk;
  u32 at;
  u32 column, row, depth;  // of the next unit
  u32 values;              // of its micro-block
};

DEVICE bool list_units(Shared& shared, const Blob& blob, const u8* mask, Units& units, u32* list, u32 count) {
  const u32 lane = threadIdx.x % 32;
#pragma unroll 1
  for (u32 i = 0; i < count; ++i) {
    const Place place = place_of(blob, units.column, units.row);
    if (units.depth == 0) {
      units.values = mask == nullptr ? place.width * place.height : valid_of(blob, mask, place, lane);
    }
    const Unit unit = read_unit(bytes_at(shared.lists.window, units.walk, blob, units.at), blob, place.x);
    const u32 len = unit.len + (unit.kind == RAW ? units.values * blob.size : 0);
    const bool counted = unit.kind != STUFFED || unit.count == units.values;
    if (!unit.good || !counted || len > blob.len - units.at) return false;
    if (lane == 0) list[i] = units.at;
    units.at += len;
    if (++units.depth == blob.depth) {
      units.depth = 0;
      if (++units.column == blob.across) units.column = 0, ++units.row;
    }
  }
  return true;
}

// Writes all units. Called by all threads, which return the same.
DEVICE bool write_units(Shared& shared, const Blob& blob, const Target& target, u32 at) {
  Units units = {walk_from(blob), at, 0, 0, 0, 0};
  const u32 lists = (blob.units + LIST - 1) / LIST;
#pragma unroll 1
  for (u32 i = 0; i <= lists; ++i) {
    bool good = true;
    if (threadIdx.x < 32) {
      const u32 count = i < lists ? min(blob.units - i * LIST, LIST) : 0;
      good = list_units(shared, blob, target.mask, units, shared.lists.positions[i % 2], count);
      if (i == lists) good = units.at == blob.len;
    } else if (i > 0) {
      const u32 first = (i - 1) * LIST;
      const WriteUnits work = {blob, target, shared.lists.positions[(i - 1) % 2], first, min(blob.units - first, LIST)};
      good = write_typed(work);
    }
    if (__syncthreads_or(!good)) return false;
  }
  return true;
}

// Writes all valid samples of a raw blob. Called by all threads, which return the same.
DEVICE bool write_sweep(Shared& shared, const Blob& blob, const Target& target, u32 at) {
  const u32 pixel_len = blob.depth * blob.size, lane = threadIdx.x % 32;
  if ((u64)blob.valid * pixel_len != blob.len - at) return false;
  const u8* from = blob.src + at;
  if (target.mask == nullptr) {
    copy_bytes<THREADS>(target.out, from, blob.pixels * pixel_len, threadIdx.x);
    return true;
  }
  u32 done = 0;
#pragma unroll 1
  for (u32 first = 0; first < blob.pixels; first += 32 * THREADS) {
    // First counts the valid pixels of 32 per thread, then handles one pixel per lane.
    u32 own = 0;
    for (u32 k = 0; k < 32; ++k) {
      const u32 pixel = first + 32 * threadIdx.x + k;
      if (pixel < blob.pixels && is_valid(target.mask, pixel)) ++own;
    }
    const Prefix prefix = block_prefix<WARPS>(own, shared.parts);
    shared.lists.ranks[threadIdx.x] = done + prefix.before;
    __syncthreads();
#pragma unroll 1
    for (u32 group = threadIdx.x / 32; group < THREADS; group += WARPS) {
      const u32 pixel = first + 32 * group + lane;
      const bool inside = pixel < blob.pixels, valid = inside && is_valid(target.mask, pixel);
      const u32 before = __ballot_sync(ALL, valid) & ((1u << lane) - 1);
      const u8* sample = from + (u64)(shared.lists.ranks[group] + (u32)__popc(before)) * pixel_len;
      if (!inside) continue;
      u8* out = target.out + (u64)pixel * pixel_len;
      for (u32 k = 0; k < pixel_len; ++k) {
        out[k] = valid ? sample[k] : (u8)(target.missing >> 8 * (k % blob.size));
      }
    }
    done += prefix.total;
    __syncthreads();
  }
  return true;
}

// Decodes an image block from a blob of at most `src_len` bytes; `mask` is memory for one bit per pixel. Reads up to 15
// bytes before the blob and 32 behind it. Called by all threads, which return the same fault.
DEVICE u32 decode(Shared& shared, const u8* src, u32 src_len, const DecodeBlock& block, u8* out, u8* mask) {
  if (threadIdx.x == 0) shared.blob = read_header(src, src_len, block);
  __syncthreads();
  const Blob blob = shared.blob;
  if (!blob.good) return FAULT_CORRUPT;
  if (!is_sum_right(blob, shared.parts)) return FAULT_CHECKSUM;
  Target target = {out, nullptr, block.missing};
  if (blob.mask_len != 0) {
    target.mask = mask;
    const bool good = threadIdx.x >= 32 || unpack_mask(shared.lists.window, blob, mask, threadIdx.x);
    if (__syncthreads_or(!good)) return FAULT_CORRUPT;
    const Prefix valid = block_prefix<WARPS>(own_valid(blob, mask), shared.parts);
    __syncthreads();
    if (valid.total != blob.valid) return FAULT_CORRUPT;
  }
  bool constant = blob.valid == 0 || blob.constant, good = true;
  if (blob.ranges != 0 && !are_ranges_right(blob, constant)) return FAULT_CORRUPT;
  u32 at = blob.payload;
  if (constant) {
    good = at == blob.len && write_typed(WriteConstants{blob, target});
    return good ? FAULT_NONE : FAULT_CORRUPT;
  }
  if (at == blob.len) return FAULT_CORRUPT;
  const bool sweep = blob.src[at++] != 0, flagged = !sweep && blob.flagged;
  if (flagged && at == blob.len) return FAULT_CORRUPT;
  const u32 mode = flagged ? (u32)blob.src[at++] : (u32)MODE_UNITS;
  if (sweep) {
    good = write_sweep(shared, blob, target, at);
  } else if (mode == MODE_UNITS) {
    good = write_units(shared, blob, target, at);
  } else {
    const bool known = mode == MODE_DIFFERENCES || (mode == MODE_CODES && blob.version >= 4);
    if (!known || blob.type > SAMPLE_U8 || target.mask != nullptr) return FAULT_UNSUPPORTED;
    good = write_codes(shared.huffman, blob, shared.parts, out, at, mode == MODE_DIFFERENCES);
  }
  return good ? FAULT_NONE : FAULT_CORRUPT;
}

}  // namespace lerc
