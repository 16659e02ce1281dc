// A stand-in for libnvcomp: takes the calls of its batched decompressors for Deflate and ZSTD, and lets a function of the
// test decode each chunk when the stream comes to it; its compressors store. Built once for each version it plays
// (-DVERSION=6000, what it says it is; -DSYMBOLS=6, whose functions it has). It checks what nvCOMP asks of its callers: alignment, memory that is
// there, options whose spare bytes are 0. Log and planted failures are the driver stand-in's.
#include "standin_driver.h"

enum { INVALID_VALUE = 10, CANNOT_DECOMPRESS = 12, ALIGNMENT = 17, INTERNAL = 10000 };

struct Properties {
  uint32_t version, cudart_version;
};

struct Options {
  int backend;
  char zero[60];
};

struct Alignments {
  size_t input, output, temp;
};

// Decodes a chunk, gives a status and how many bytes there were. codec 0: raw Deflate; 1: ZSTD.
typedef int (*Decoder)(int codec, const void* src, size_t src_len, void* dst, size_t room, size_t* written);

static Decoder decoder = nullptr;

struct Batch {
  int codec;
  const void* const* sources;
  const size_t* lengths;
  const size_t* rooms;
  size_t* written;
  size_t count;
  void* temporary;
  size_t temporary_len;
  void* const* targets;
  int* statuses;
};

static const size_t ALIGNED[2] = {4, 8};

// More than the lists and less than a tile, so that a plan that forgets it is too small.
static size_t temporary_for(size_t count, size_t most) { return 1000 + count * 24 + most; }

static bool holds(const void* at, size_t size) { return driver().holds((u64)at, size) != 0; }

static int one(const Batch& b, size_t i, size_t* written) {
  const size_t aligned = ALIGNED[b.codec];
  if ((u64)b.sources[i] % aligned != 0 || (u64)b.targets[i] % aligned != 0) return ALIGNMENT;
  if (!holds(b.sources[i], b.lengths[i]) || !holds(b.targets[i], b.rooms[i])) return INVALID_VALUE;
  if (decoder == nullptr) return INTERNAL;
  // A failure planted for one chunk: fail=nvcompChunk:3:12; 1 is a chunk that is short of a byte, and says nothing.
  const int planted = driver().enter("nvcompChunk", b.codec == 0 ? "codec=deflate" : "codec=zstd");
  const int status = decoder(b.codec, b.sources[i], b.lengths[i], b.targets[i], b.rooms[i], written);
  if (planted == 1) *written -= 1;
  // 2: a byte of the output is another, and nothing says so.
  if (planted == 2) *(unsigned char*)b.targets[i] ^= 1;
  return planted > 2 ? planted : status;
}

static void run(void* data) {
  Batch* b = (Batch*)data;
  const bool there = holds(b->sources, 8 * b->count) && holds(b->lengths, 8 * b->count) &&
                     holds(b->rooms, 8 * b->count) && holds(b->written, 8 * b->count) &&
                     holds(b->targets, 8 * b->count) && holds(b->statuses, 4 * b->count) &&
                     holds(b->temporary, b->temporary_len);
  if (!there) {
    misuse("nvCOMP was given lists or temporary memory that is not there");
  } else {
    // It is nvCOMP's to scribble on.
    memset(b->temporary, 0xC7, b->temporary_len);
    for (size_t i = 0; i < b->count; i++) {
      size_t written = 0;
      b->statuses[i] = one(*b, i, &written);
      b->written[i] = written;
    }
  }
  delete b;
}

static int queue(const char* name, Batch batch, const Options& options, u64 stream) {
  char facts[160];
  snprintf(facts, sizeof facts, "count=%zu size=%zu backend=%d", batch.count, batch.temporary_len,
           options.backend);
  int status = driver().enter(name, facts);
  if (status != 0) return status;
  for (char byte : options.zero) {
    if (byte != 0) return INVALID_VALUE;
  }
  if (batch.count == 0 || batch.statuses == nullptr || batch.written == nullptr) return INVALID_VALUE;
  if ((u64)batch.temporary % ALIGNED[batch.codec] != 0) return ALIGNMENT;
  Batch* queued = new Batch(batch);
  if (driver().host_function(stream, run, queued) == 0) return 0;
  delete queued;
  return INTERNAL;
}

struct CompressOptions {
  int algorithm;
  char zero[60];
};

struct CompressBatch {
  int codec;
  const void* const* sources;
  const size_t* lengths;
  size_t most, count;
  void* temporary;
  size_t temporary_len;
  void* const* targets;
  size_t* written;
  int* statuses;
};

// Stored blocks of Deflate, raw blocks of ZSTD.
static const size_t STORED[2] = {65535, 131072 - 1};
static size_t pieces_of(int codec, size_t len) { return len == 0 ? 1 : (len - 1) / STORED[codec] + 1; }
static size_t bound_of(int codec, size_t len) {
  return codec == 0 ? len + 5 * pieces_of(0, len) : len + 9 + 3 * pieces_of(1, len);
}

static size_t store(int codec, const unsigned char* src, size_t len, unsigned char* dst) {
  unsigned char* to = dst;
  const auto put = [&](u64 value, int bytes) {
    for (int k = 0; k < bytes; k++) *to++ = (unsigned char)(value >> 8 * k);
  };
  if (codec == 1) put(0xFD2FB528, 4), put(0xA0, 1), put(len, 4);
  const size_t pieces = pieces_of(codec, len);
  for (size_t i = 0; i < pieces; i++) {
    const bool last = i + 1 == pieces;
    const size_t size = last ? len - i * STORED[codec] : STORED[codec];
    if (codec == 0) {
      put(last, 1), put(size, 2), put(~size, 2);
    } else {
      put((u64)last | size << 3, 3);
    }
    memcpy(to, src + i * STORED[codec], size);
    to += size;
  }
  return (size_t)(to - dst);
}

static int compress_one(const CompressBatch& b, size_t i, size_t* written) {
  const size_t len = b.lengths[i], room = bound_of(b.codec, b.most);
  if ((u64)b.sources[i] % 8 != 0 || (u64)b.targets[i] % 8 != 0) return ALIGNMENT;
  if (len == 0 || len > b.most) return INVALID_VALUE;
  if (!holds(b.sources[i], len) || !holds(b.targets[i], room)) return INVALID_VALUE;
  // A failure planted for one chunk: fail=nvcompChunk:3:12.
  const int planted = driver().enter("nvcompChunk", b.codec == 0 ? "codec=deflate" : "codec=zstd");
  *written = store(b.codec, (const unsigned char*)b.sources[i], len, (unsigned char*)b.targets[i]);
  return planted;
}

static void run_compress(void* data) {
  CompressBatch* b = (CompressBatch*)data;
  const bool there = holds(b->sources, 8 * b->count) && holds(b->lengths, 8 * b->count) &&
                     holds(b->written, 8 * b->count) && holds(b->targets, 8 * b->count) &&
                     holds(b->statuses, 4 * b->count) && holds(b->temporary, b->temporary_len);
  if (!there) {
    misuse("nvCOMP was given lists or temporary memory that is not there");
  } else {
    // It is nvCOMP's to scribble on.
    memset(b->temporary, 0xC7, b->temporary_len);
    for (size_t i = 0; i < b->count; i++) {
      size_t written = 0;
      b->statuses[i] = compress_one(*b, i, &written);
      b->written[i] = written;
    }
  }
  delete b;
}

static int queue_compress(const char* name, CompressBatch batch, const CompressOptions& options, u64 stream) {
  char facts[160];
  snprintf(facts, sizeof facts, "count=%zu size=%zu effort=%d", batch.count, batch.temporary_len,
           options.algorithm);
  int status = driver().enter(name, facts);
  if (status != 0) return status;
  for (char byte : options.zero) {
    if (byte != 0) return INVALID_VALUE;
  }
  if (options.algorithm < 0 || options.algorithm > (batch.codec == 0 ? 5 : 0)) return INVALID_VALUE;
  if (batch.count == 0 || batch.written == nullptr) return INVALID_VALUE;
  if ((u64)batch.temporary % 8 != 0) return ALIGNMENT;
  CompressBatch* queued = new CompressBatch(batch);
  if (driver().host_function(stream, run_compress, queued) == 0) return 0;
  delete queued;
  return INTERNAL;
}

#define NVCOMP extern "C" __attribute__((visibility("default")))

NVCOMP void strile_standin_nvcomp_decoder(Decoder given) { decoder = given; }

NVCOMP int nvcompGetProperties(Properties* properties) {
  *properties = {VERSION, 13000};
  return driver().enter("nvcompGetProperties", "");
}

#define ALIGNMENTS(Name, codec)                                                                              \
  NVCOMP int nvcompBatched##Name##DecompressGetRequiredAlignments(Options, Alignments* wanted) {             \
    *wanted = {ALIGNED[codec], ALIGNED[codec], ALIGNED[codec]};                                              \
    int odd = driver().enter("nvcompBatched" #Name "DecompressGetRequiredAlignments", "");                   \
    if (odd >= 512) wanted->input = (size_t)odd;                                                             \
    return odd >= 512 ? 0 : odd;                                                                             \
  }

#define DECOMPRESS(Name, codec)                                                                              \
  NVCOMP int nvcompBatched##Name##DecompressAsync(                                                           \
      const void* const* sources, const size_t* lengths, const size_t* rooms, size_t* written, size_t count, \
      void* temporary, size_t temporary_len, void* const* targets, Options options, int* statuses, u64 s) {  \
    Batch batch = {codec,     sources,       lengths, rooms,   written, count,                               \
                   temporary, temporary_len, targets, statuses};                                             \
    return queue("nvcompBatched" #Name "DecompressAsync", batch, options, s);                                \
  }

#define COMPRESS(Name, codec)                                                                                \
  NVCOMP int nvcompBatched##Name##CompressGetRequiredAlignments(CompressOptions, Alignments* wanted) {       \
    *wanted = {8, 8, 8};                                                                                     \
    return driver().enter("nvcompBatched" #Name "CompressGetRequiredAlignments", "");                        \
  }                                                                                                          \
  NVCOMP int nvcompBatched##Name##CompressGetMaxOutputChunkSize(size_t most, CompressOptions,                \
                                                                size_t* bytes) {                             \
    *bytes = bound_of(codec, most);                                                                          \
    return driver().enter("nvcompBatched" #Name "CompressGetMaxOutputChunkSize", "");                        \
  }                                                                                                          \
  NVCOMP int nvcompBatched##Name##CompressAsync(                                                             \
      const void* const* sources, const size_t* lengths, size_t most, size_t count, void* temporary,         \
      size_t temporary_len, void* const* targets, size_t* written, CompressOptions options, int* statuses,   \
      u64 s) {                                                                                               \
    CompressBatch batch = {codec,         sources, lengths, most,    count, temporary,                       \
                           temporary_len, targets, written, statuses};                                       \
    return queue_compress("nvcompBatched" #Name "CompressAsync", batch, options, s);                         \
  }

#if SYMBOLS == 5
#define TEMPORARY(Name)                                                                                      \
  NVCOMP int nvcompBatched##Name##DecompressGetTempSizeAsync(size_t count, size_t most, Options,             \
                                                             size_t* bytes, size_t) {                        \
    *bytes = temporary_for(count, most);                                                                     \
    return driver().enter("nvcompBatched" #Name "DecompressGetTempSize", "");                                \
  }                                                                                                          \
  NVCOMP int nvcompBatched##Name##CompressGetTempSizeAsync(size_t count, size_t most, CompressOptions,       \
                                                           size_t* bytes, size_t) {                          \
    *bytes = temporary_for(count, most);                                                                     \
    return driver().enter("nvcompBatched" #Name "CompressGetTempSize", "");                                  \
  }
#else
#define TEMPORARY(Name)                                                                                      \
  NVCOMP int nvcompBatched##Name##DecompressGetTempSize(size_t count, size_t most, Options, size_t* bytes,   \
                                                        size_t, u64) {                                       \
    *bytes = temporary_for(count, most);                                                                     \
    return driver().enter("nvcompBatched" #Name "DecompressGetTempSize", "");                                \
  }                                                                                                          \
  NVCOMP int nvcompBatched##Name##CompressGetTempSize(size_t count, size_t most, CompressOptions,            \
                                                      size_t* bytes, size_t, u64) {                          \
    *bytes = temporary_for(count, most);                                                                     \
    return driver().enter("nvcompBatched" #Name "CompressGetTempSize", "");                                  \
  }
#endif

ALIGNMENTS(Deflate, 0)
ALIGNMENTS(Zstd, 1)
TEMPORARY(Deflate)
TEMPORARY(Zstd)
DECOMPRESS(Deflate, 0)
DECOMPRESS(Zstd, 1)
COMPRESS(Deflate, 0)
COMPRESS(Zstd, 1)
