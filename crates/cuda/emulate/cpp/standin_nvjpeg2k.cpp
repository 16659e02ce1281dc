// A stand-in for libnvjpeg2k: reads the size of a codestream, and lets a function of the test give its samples when the
// stream comes to it. It checks what nvJPEG2000 asks of its callers: one decode under way on a state, bitstreams that stay
// while they are decoded, memory that is there. Built for a version (-DMAJOR=0 -DMINOR=11), and without the function that
// decodes (-DWITHOUT_DECODE).
#include "standin_library.h"

struct Handle {
  Allocator device, pinned;
};

struct State {
  Working working;
  std::atomic<int> busy{0};
  int number;
};

struct Bitstream {
  const unsigned char* data = nullptr;
  size_t len = 0;
  uint32_t width = 0, height = 0, components = 0;
  std::atomic<int> busy{0};
};

struct Params {
  int format = 0;
};

struct ImageInfo {
  uint32_t width, height, tile_width, tile_height, tiles_x, tiles_y, components;
};

struct ComponentInfo {
  uint32_t width, height;
  uint8_t precision, is_signed;
};

struct Image {
  void** data;
  size_t* pitch;
  int type;
  uint32_t components;
};

static uint32_t number(const unsigned char* p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static std::atomic<int> states{0};

LIBRARY nvjpeg2kGetProperty(int kind, int* value) {
  const int version[3] = {MAJOR, MINOR, 0};
  if (kind < 0 || kind > 2) return INVALID_PARAMETER;
  *value = version[kind];
  return driver().enter("nvjpeg2kGetProperty", "");
}

LIBRARY nvjpeg2kCreateV2(int backend, const Allocator* device, const Allocator* pinned, Handle** handle) {
  int status = driver().enter("nvjpeg2kCreateV2", "");
  if (status != 0) return status;
  if (backend != 0 || device == nullptr || pinned == nullptr) return INVALID_PARAMETER;
  *handle = new Handle{*device, *pinned};
  return 0;
}

LIBRARY nvjpeg2kDestroy(Handle* handle) {
  delete handle;
  return driver().enter("nvjpeg2kDestroy", "");
}

LIBRARY nvjpeg2kDecodeStateCreate(Handle* handle, State** state) {
  int status = driver().enter("nvjpeg2kDecodeStateCreate", "");
  if (status != 0) return status;
  *state = new State;
  (*state)->working.device = &handle->device;
  (*state)->working.pinned = &handle->pinned;
  (*state)->number = states++;
  return 0;
}

LIBRARY nvjpeg2kDecodeStateDestroy(State* state) {
  if (state->busy.load() != 0) misuse("a state is destroyed while it decodes");
  state->working.release(0);
  delete state;
  return driver().enter("nvjpeg2kDecodeStateDestroy", "");
}

LIBRARY nvjpeg2kStreamCreate(Bitstream** bitstream) {
  *bitstream = new Bitstream;
  return driver().enter("nvjpeg2kStreamCreate", "");
}

LIBRARY nvjpeg2kStreamDestroy(Bitstream* bitstream) {
  if (bitstream->busy.load() != 0) misuse("a bitstream is destroyed while it is decoded");
  delete bitstream;
  return driver().enter("nvjpeg2kStreamDestroy", "");
}

LIBRARY nvjpeg2kStreamParse(Handle*, const unsigned char* data, size_t len, int, int, Bitstream* bitstream) {
  int status = driver().enter("nvjpeg2kStreamParse", "");
  if (status != 0) return status;
  if (bitstream->busy.load() != 0) misuse("a bitstream is parsed while it is decoded");
  const unsigned char start[4] = {0xFF, 0x4F, 0xFF, 0x51};
  if (len < 45 || memcmp(data, start, 4) != 0) return BAD_STREAM;
  bitstream->data = data;
  bitstream->len = len;
  bitstream->width = number(data + 8) - number(data + 16);
  bitstream->height = number(data + 12) - number(data + 20);
  bitstream->components = (uint32_t)data[40] << 8 | data[41];
  return len < 42 + 3 * (size_t)bitstream->components ? BAD_STREAM : 0;
}

LIBRARY nvjpeg2kStreamGetImageInfo(Bitstream* b, ImageInfo* info) {
  int odd = driver().enter("nvjpeg2kStreamGetImageInfo", "");
  // 1000 and more: a picture that is wider than it is.
  uint32_t width = b->width + (odd >= 1000 ? 1u : 0u);
  *info = {width, b->height, width, b->height, 1, 1, b->components};
  return odd >= 1000 ? 0 : odd;
}

LIBRARY nvjpeg2kStreamGetImageComponentInfo(Bitstream* b, ComponentInfo* info, uint32_t component) {
  if (component >= b->components) return INVALID_PARAMETER;
  const unsigned char* at = b->data + 42 + 3 * component;
  *info = {b->width / at[1], b->height / at[2], (uint8_t)((at[0] & 0x7F) + 1), (uint8_t)(at[0] >> 7)};
  return 0;
}

LIBRARY nvjpeg2kDecodeParamsCreate(Params** params) {
  *params = new Params;
  return driver().enter("nvjpeg2kDecodeParamsCreate", "");
}

LIBRARY nvjpeg2kDecodeParamsDestroy(Params* params) {
  delete params;
  return driver().enter("nvjpeg2kDecodeParamsDestroy", "");
}

LIBRARY nvjpeg2kDecodeParamsSetOutputFormat(Params* params, int format) {
  params->format = format;
  return driver().enter("nvjpeg2kDecodeParamsSetOutputFormat", "");
}

// Of the encoder: a stream is "j2k!", what it was asked for, and the samples as they are.
struct Config {
  int stream_type, colour;
  uint16_t rsiz;
  uint32_t width, height, tiling, tile_width, tile_height, components;
  const ComponentInfo* info;
  uint32_t sop, eph;
  int progression;
  uint32_t layers, mct, resolutions, code_block_width, code_block_height, modes, irreversible, precincts;
};

struct EncodeParams {
  bool set = false;
  uint32_t width = 0, height = 0, components = 0, mct = 0, irreversible = 0;
  uint8_t precision = 0;
  int format = 0;
  double psnr = 0;
};

struct EncodeState {
  std::vector<unsigned char> stream;
  std::atomic<int> busy{0};
  int number;
};

struct EncodeJob {
  EncodeState* state;
  std::vector<unsigned char> head;
  const void* samples;
  size_t len;
};

static std::atomic<int> encode_states{0};

static void run_encode(void* data) {
  EncodeJob* job = (EncodeJob*)data;
  if (!driver().holds((u64)job->samples, job->len)) {
    misuse("samples to encode have no memory");
  } else {
    job->state->stream = job->head;
    const unsigned char* from = (const unsigned char*)job->samples;
    job->state->stream.insert(job->state->stream.end(), from, from + job->len);
  }
  job->state->busy.store(0);
  delete job;
}

LIBRARY nvjpeg2kEncoderCreateSimple(void** handle) {
  *handle = new int(0);
  return driver().enter("nvjpeg2kEncoderCreateSimple", "");
}

LIBRARY nvjpeg2kEncoderDestroy(int* handle) {
  delete handle;
  return driver().enter("nvjpeg2kEncoderDestroy", "");
}

LIBRARY nvjpeg2kEncodeStateCreate(void*, EncodeState** state) {
  int status = driver().enter("nvjpeg2kEncodeStateCreate", "");
  if (status != 0) return status;
  *state = new EncodeState;
  (*state)->number = encode_states++;
  return 0;
}

LIBRARY nvjpeg2kEncodeStateDestroy(EncodeState* state) {
  if (state->busy.load() != 0) misuse("a state is destroyed while it encodes");
  delete state;
  return driver().enter("nvjpeg2kEncodeStateDestroy", "");
}

LIBRARY nvjpeg2kEncodeParamsCreate(EncodeParams** params) {
  *params = new EncodeParams;
  return driver().enter("nvjpeg2kEncodeParamsCreate", "");
}

LIBRARY nvjpeg2kEncodeParamsDestroy(EncodeParams* params) {
  delete params;
  return driver().enter("nvjpeg2kEncodeParamsDestroy", "");
}

LIBRARY nvjpeg2kEncodeParamsSetEncodeConfig(EncodeParams* params, const Config* c) {
  int status = driver().enter("nvjpeg2kEncodeParamsSetEncodeConfig", "");
  if (status != 0) return status;
  if (c->components < 1 || c->components > 4 || c->info == nullptr || c->layers != 1) return INVALID_PARAMETER;
  if (c->resolutions < 1 || c->width >> (c->resolutions - 1) == 0 || c->height >> (c->resolutions - 1) == 0) {
    return INVALID_PARAMETER;
  }
  for (uint32_t i = 0; i < c->components; i++) {
    if (c->info[i].width != c->width || c->info[i].height != c->height) return INVALID_PARAMETER;
  }
  *params = {true, c->width, c->height, c->components, c->mct, c->irreversible, c->info[0].precision, 0, 0};
  return 0;
}

LIBRARY nvjpeg2kEncodeParamsSetInputFormat(EncodeParams* params, int format) {
  params->format = format;
  return driver().enter("nvjpeg2kEncodeParamsSetInputFormat", "");
}

LIBRARY nvjpeg2kEncodeParamsSpecifyQuality(EncodeParams* params, int kind, double value) {
  int status = driver().enter("nvjpeg2kEncodeParamsSpecifyQuality", "");
  if (status != 0) return status;
  if (!params->set || params->irreversible == 0 || kind != 0 || value <= 0) return INVALID_PARAMETER;
  params->psnr = value;
  return 0;
}

LIBRARY nvjpeg2kEncode(void*, EncodeState* state, const EncodeParams* p, const Image* image, u64 stream) {
  char facts[96];
  snprintf(facts, sizeof facts, "state=%d stream=%llu", state->number, stream);
  int status = driver().enter("nvjpeg2kEncode", facts);
  if (status != 0) return status;
  const size_t size = image->type == 0 ? 1 : 2;
  if (!p->set || p->format != 1 || image->components != p->components || p->precision != 8 * size) {
    return INVALID_PARAMETER;
  }
  if (image->pitch[0] != p->width * p->components * size) return INVALID_PARAMETER;
  if (state->busy.exchange(1) != 0) {
    misuse("two pictures under way on one state");
    return EXECUTION_FAILED;
  }
  EncodeJob* job = new EncodeJob{state, {'j', '2', 'k', '!'}, image->data[0], image->pitch[0] * p->height};
  job->head.push_back((unsigned char)p->mct);
  job->head.push_back((unsigned char)p->psnr);
  if (driver().host_function(stream, run_encode, job) == 0) return 0;
  delete job;
  return EXECUTION_FAILED;
}

LIBRARY nvjpeg2kEncodeRetrieveBitstream(void*, EncodeState* state, unsigned char* to, size_t* len, u64 stream) {
  int status = driver().enter("nvjpeg2kEncodeRetrieveBitstream", "");
  if (status != 0) return status;
  // Waits in both forms, which the real one does where it is asked for the length alone.
  static const auto wait = (int (*)(u64))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuStreamSynchronize");
  if (wait(stream) != 0) return EXECUTION_FAILED;
  if (to != nullptr && *len < state->stream.size()) return INVALID_PARAMETER;
  *len = state->stream.size();
  if (to != nullptr) memcpy(to, state->stream.data(), *len);
  return 0;
}

#ifndef WITHOUT_DECODE
LIBRARY nvjpeg2kDecodeImage(Handle*, State* state, Bitstream* b, Params* params, Image* image, u64 stream) {
  char facts[96];
  snprintf(facts, sizeof facts, "state=%d stream=%llu", state->number, stream);
  int status = driver().enter("nvjpeg2kDecodeImage", facts);
  if (status != 0) return status;
  if (params->format != 1 || image->components != b->components || image->type < 0 || image->type > 2) {
    return INVALID_PARAMETER;
  }
  const size_t size = image->type == 0 ? 1 : 2;
  const size_t pitch = b->width * b->components * size;
  if (image->pitch[0] < pitch) return INVALID_PARAMETER;
  if (state->busy.load() != 0) {
    misuse("two decodes under way on one state");
    return EXECUTION_FAILED;
  }
  const size_t scratch = 4 * pitch * b->height + 1000;
  if (!state->working.grow(scratch, stream)) return NO_MEMORY;
  Job* job = new Job;
  job->pictures.push_back({b->data, b->len, image->data[0], image->pitch[0] * b->height});
  job->busy = {&state->busy, &b->busy};
  job->scratch = state->working.on_device;
  job->scratch_len = state->working.size;
  return queue(job, stream);
}
#endif
