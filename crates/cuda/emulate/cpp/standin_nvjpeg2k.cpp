// A stand-in for the encoder of libnvjpeg2k: a stream is "j2k!", what it was asked for, and the samples as they are. It checks
// what nvJPEG2000 asks of its callers: one picture under way on a state, memory that is there. Built for a version
// (-DMAJOR=0 -DMINOR=11), and without the function that encodes (-DWITHOUT_ENCODE).
#include <atomic>
#include <vector>

#include "standin_driver.h"

enum {
  INVALID_PARAMETER = 2,
  EXECUTION_FAILED = 6,
};

#define LIBRARY extern "C" __attribute__((visibility("default"))) int

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

LIBRARY nvjpeg2kGetProperty(int kind, int* value) {
  const int version[3] = {MAJOR, MINOR, 0};
  if (kind < 0 || kind > 2) return INVALID_PARAMETER;
  *value = version[kind];
  return driver().enter("nvjpeg2kGetProperty", "");
}

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

#ifndef WITHOUT_ENCODE
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
#endif

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
