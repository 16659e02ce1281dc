// nvTIFF's whole-image decoder, file to device: nvtiff_bench REPEAT FILE.tif… [--pixels FILE.npy…]
// One JSON line a file: `seconds`, the best of REPEAT after one that is not counted: opening and parsing the
// file and decoding into an image on the device. Outside the timer: the context, nvTIFF's handles, and the memory
// of the image. `same` tells whether the pixels are those of the .npy of the same place in the list (bands first),
// null without one.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <cuda_runtime.h>

#include "nvtiff.h"

namespace {

double now() {
  using clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

// The pixels of an .npy file of version 1 or 2, in the order of its array.
std::vector<char> npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  std::vector<char> bytes(size_t(file.tellg()));
  file.seekg(0);
  file.read(bytes.data(), std::streamsize(bytes.size()));
  if (!file || bytes.size() < 12) return {};
  uint16_t shorter;
  uint32_t longer;
  std::memcpy(&shorter, &bytes[8], 2);
  std::memcpy(&longer, &bytes[8], 4);
  const size_t head = bytes[6] == 1 ? size_t(10) + shorter : size_t(12) + longer;
  if (head > bytes.size()) return {};
  bytes.erase(bytes.begin(), bytes.begin() + std::ptrdiff_t(head));
  return bytes;
}

// Whether an image that lies pixel by pixel is the one that lies band by band.
bool same_pixels(const std::vector<char>& image, const std::vector<char>& bands, size_t samples,
                 size_t sample) {
  if (image.size() != bands.size()) return false;
  if (samples == 1) return image == bands;
  const size_t pixels = image.size() / (samples * sample);
  for (size_t i = 0; i < pixels; ++i)
    for (size_t band = 0; band < samples; ++band)
      if (std::memcmp(&image[(i * samples + band) * sample], &bands[(band * pixels + i) * sample], sample))
        return false;
  return true;
}

struct Decoder {
  cudaStream_t stream = nullptr;
  nvtiffDecoder_t decoder = nullptr;
  nvtiffDecodeParams_t params = nullptr;
};

// An error in words, empty where there is none.
std::string status(int code, const char* call) {
  return code == 0 ? std::string() : std::string(call) + ": nvTIFF status " + std::to_string(code);
}

struct Image {
  void* memory = nullptr;
  size_t room = 0, bytes = 0, samples = 0, sample = 0;
};

// Reads a file once; seconds, or an error in words.
std::string read_once(const Decoder& with, const char* path, Image& image, double& seconds) {
  const double start = now();
  nvtiffStream_t file = nullptr;
  std::string wrong = status(nvtiffStreamOpenFromFile(path, &file), "open");
  if (!wrong.empty()) return wrong;
  nvtiffImageInfo_t info;
  wrong = status(nvtiffStreamGetImageInfo(file, 0, &info), "info");
  double outside = 0;
  if (wrong.empty()) {
    size_t pitch = (size_t(info.image_width) * info.bits_per_pixel + 7) / 8;
    image.bytes = pitch * info.image_height;
    image.samples = info.samples_per_pixel;
    image.sample = info.bits_per_pixel / 8 / std::max<size_t>(image.samples, 1);
    if (image.bytes > image.room) {
      const double before = now();
      cudaFree(image.memory);
      if (cudaMalloc(&image.memory, image.bytes) != cudaSuccess) wrong = "no memory for the image";
      image.room = wrong.empty() ? image.bytes : 0;
      outside = now() - before;
    }
    if (wrong.empty()) {
      nvtiffImage_t target;
      target.plane_data = &image.memory;
      target.plane_pitch_bytes = &pitch;
      target.num_planes = 1;
      wrong = status(nvtiffDecode(file, with.decoder, with.params, &target, with.stream), "decode");
      const cudaError_t waited = cudaStreamSynchronize(with.stream);
      if (wrong.empty() && waited != cudaSuccess) wrong = cudaGetErrorString(waited);
    }
  }
  seconds = now() - start - outside;
  nvtiffStreamClose(file);
  return wrong;
}

}  // namespace

int main(int count, char** values) {
  std::vector<const char*> files, pixels;
  bool more = false;
  for (int i = 2; i < count; ++i) {
    if (std::strcmp(values[i], "--pixels") == 0) more = true;
    else (more ? pixels : files).push_back(values[i]);
  }
  const int repeat = count > 1 ? std::atoi(values[1]) : 0;
  Decoder with;
  cudaFree(nullptr);
  if (repeat < 1 || cudaStreamCreate(&with.stream) != cudaSuccess ||
      nvtiffDecoderCreateSimple(&with.decoder, with.stream) != NVTIFF_STATUS_SUCCESS ||
      nvtiffDecodeParamsCreate(&with.params) != NVTIFF_STATUS_SUCCESS) {
    std::printf("{\"error\": \"nvtiff_bench REPEAT FILE…, with a device and nvTIFF\"}\n");
    return 1;
  }
  Image image;
  for (size_t i = 0; i < files.size(); ++i) {
    double best = 1e9, seconds = 0;
    std::string wrong;
    for (int round = 0; round <= repeat && wrong.empty(); ++round) {
      wrong = read_once(with, files[i], image, seconds);
      if (round > 0) best = std::min(best, seconds);
    }
    if (!wrong.empty()) {
      std::printf("{\"file\": \"%s\", \"error\": \"%s\"}\n", files[i], wrong.c_str());
      cudaGetLastError();
      continue;
    }
    const char* same = "null";
    if (i < pixels.size()) {
      std::vector<char> here(image.bytes);
      cudaMemcpy(here.data(), image.memory, image.bytes, cudaMemcpyDeviceToHost);
      same = same_pixels(here, npy(pixels[i]), image.samples, image.sample) ? "true" : "false";
    }
    std::printf("{\"file\": \"%s\", \"seconds\": %.6f, \"bytes\": %zu, \"same\": %s}\n", files[i], best,
                image.bytes, same);
    std::fflush(stdout);
  }
  return 0;
}
