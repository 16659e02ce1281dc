// A stand-in for libnvjpeg: reads the frame of a stream, and lets a function of the test give its samples when the stream
// comes to it. A batch with a stream that has the comment "bad" fails as a whole, as nvJPEG's do; one with the comment
// "odd" is a stream that the library says it does not support. Built for a version (-DMAJOR=13 -DMINOR=2), and without the
// function that decodes batches (-DWITHOUT_DECODE).
#include "standin_library.h"

struct Handle {
  Allocator device, pinned;
  int backend;
};

struct State {
  Working working;
  std::atomic<int> busy{0};
  int number, count = 0, format = 0;
};

struct Bitstream {
  unsigned width = 0, height = 0, components = 0;
  bool odd = false;
};

struct Image {
  unsigned char* channel[4];
  size_t pitch[4];
};

static std::atomic<int> states{0};

// The frame of a stream, and what its comments say.
struct Frame {
  unsigned width = 0, height = 0, components = 0;
  bool bad = false, odd = false;
};

static bool frame(const unsigned char* data, size_t len, Frame* found) {
  size_t at = 2;
  while (at + 4 <= len && data[at] == 0xFF) {
    const unsigned marker = data[at + 1];
    const size_t size = (size_t)data[at + 2] << 8 | data[at + 3];
    if (at + 2 + size > len) return false;
    const unsigned char* body = data + at + 4;
    if (marker == 0xFE && size >= 5 && memcmp(body, "bad", 3) == 0) found->bad = true;
    if (marker == 0xFE && size >= 5 && memcmp(body, "odd", 3) == 0) found->odd = true;
    if (marker >= 0xC0 && marker <= 0xC2) {
      found->height = (unsigned)body[1] << 8 | body[2];
      found->width = (unsigned)body[3] << 8 | body[4];
      found->components = body[5];
    }
    if (marker == 0xDA) return found->width != 0;
    at += 2 + size;
  }
  return false;
}

LIBRARY nvjpegGetProperty(int kind, int* value) {
  const int version[3] = {MAJOR, MINOR, 3};
  if (kind < 0 || kind > 2) return INVALID_PARAMETER;
  *value = version[kind];
  return driver().enter("nvjpegGetProperty", "");
}

LIBRARY nvjpegCreateExV2(int backend, const Allocator* device, const Allocator* pinned, unsigned flags,
                         Handle** handle) {
  char facts[64];
  snprintf(facts, sizeof facts, "backend=%d flags=%u", backend, flags);
  int status = driver().enter("nvjpegCreateExV2", facts);
  if (status != 0) return status;
  if (device == nullptr || pinned == nullptr) return INVALID_PARAMETER;
  *handle = new Handle{*device, *pinned, backend};
  return 0;
}

LIBRARY nvjpegDestroy(Handle* handle) {
  delete handle;
  return driver().enter("nvjpegDestroy", "");
}

LIBRARY nvjpegGetHardwareDecoderInfo(Handle* handle, unsigned* engines, unsigned* cores) {
  *engines = handle->backend == 3 ? 7 : 0;
  *cores = 1;
  return driver().enter("nvjpegGetHardwareDecoderInfo", "");
}

LIBRARY nvjpegJpegStateCreate(Handle* handle, State** state) {
  int status = driver().enter("nvjpegJpegStateCreate", "");
  if (status != 0) return status;
  *state = new State;
  (*state)->working.device = &handle->device;
  (*state)->working.pinned = &handle->pinned;
  (*state)->number = states++;
  return 0;
}

LIBRARY nvjpegJpegStateDestroy(State* state) {
  if (state->busy.load() != 0) misuse("a state is destroyed while it decodes");
  state->working.release(0);
  delete state;
  return driver().enter("nvjpegJpegStateDestroy", "");
}

LIBRARY nvjpegJpegStreamCreate(Handle*, Bitstream** bitstream) {
  *bitstream = new Bitstream;
  return driver().enter("nvjpegJpegStreamCreate", "");
}

LIBRARY nvjpegJpegStreamDestroy(Bitstream* bitstream) {
  delete bitstream;
  return driver().enter("nvjpegJpegStreamDestroy", "");
}

LIBRARY nvjpegJpegStreamParseHeader(Handle*, const unsigned char* data, size_t len, Bitstream* bitstream) {
  int status = driver().enter("nvjpegJpegStreamParseHeader", "");
  if (status != 0) return status;
  Frame found;
  if (!frame(data, len, &found)) return BAD_STREAM;
  bitstream->width = found.width;
  bitstream->height = found.height;
  bitstream->components = found.components;
  bitstream->odd = found.odd;
  return 0;
}

LIBRARY nvjpegJpegStreamGetFrameDimensions(Bitstream* bitstream, unsigned* width, unsigned* height) {
  *width = bitstream->width;
  *height = bitstream->height;
  return 0;
}

LIBRARY nvjpegJpegStreamGetComponentsNum(Bitstream* bitstream, unsigned* count) {
  *count = bitstream->components;
  return 0;
}

LIBRARY nvjpegDecodeBatchedSupported(Handle*, Bitstream* bitstream, int* supported) {
  *supported = bitstream->odd ? 1 : 0;
  return driver().enter("nvjpegDecodeBatchedSupported", "");
}

LIBRARY nvjpegDecodeBatchedInitialize(Handle*, State* state, int count, int threads, int format) {
  char facts[96];
  snprintf(facts, sizeof facts, "state=%d count=%d format=%d", state->number, count, format);
  int status = driver().enter("nvjpegDecodeBatchedInitialize", facts);
  if (status != 0) return status;
  if (state->busy.load() != 0) misuse("a state is initialised while it decodes");
  if (count < 1 || threads < 1 || (format != 2 && format != 5)) return INVALID_PARAMETER;
  state->count = count;
  state->format = format;
  return 0;
}

#ifndef WITHOUT_DECODE
LIBRARY nvjpegDecodeBatched(Handle*, State* state, const unsigned char* const* data, const size_t* lens, Image* images,
                            u64 stream) {
  char facts[96];
  snprintf(facts, sizeof facts, "state=%d count=%d stream=%llu", state->number, state->count, stream);
  int status = driver().enter("nvjpegDecodeBatched", facts);
  if (status != 0) return status;
  Job* job = new Job;
  size_t all = 0;
  for (int i = 0; i < state->count; i++) {
    Frame found;
    if (!frame(data[i], lens[i], &found) || found.bad) status = BAD_STREAM;
    const size_t pitch = found.width * (state->format == 5 ? 3 : 1);
    if (images[i].pitch[0] < pitch) status = INVALID_PARAMETER;
    job->pictures.push_back({data[i], lens[i], images[i].channel[0], images[i].pitch[0] * found.height});
    all += images[i].pitch[0] * found.height;
  }
  if (status == 0 && !state->working.grow(all, stream)) status = NO_MEMORY;
  if (status != 0) {
    delete job;
    return status;
  }
  job->busy = {&state->busy};
  job->scratch = state->working.on_device;
  job->scratch_len = state->working.size;
  return queue(job, stream);
}
#endif
