// NVIDIA's picture decoders on the tiles of one TIFF, to device memory:
//   pictures_bench jpeg2000 FILE.tif WIDTH HEIGHT BANDS SAMPLE_BYTES STATES [PIXELS_OUT]
//   pictures_bench jpeg FILE.tif WIDTH HEIGHT BANDS BACKEND [PIXELS_OUT]
// FILE.tif.idx (make_pictures.py writes it) lists the tiles, which are whole streams. Inside the timer (wall clock, median
// of 3 after a warm-up): from streams in host memory to pixels in one pool on the device, everything waited for. nvJPEG2000
// has STATES states, each with a stream and a thread of its own and one decode in flight; nvJPEG decodes all tiles as one
// batch by BACKEND (0 default, 1 hybrid, 2 GPU hybrid, 3 hardware). One JSON line is printed.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime.h>

#include "nvjpeg.h"
#include "nvjpeg2k.h"

namespace {

[[noreturn]] void fail(const std::string& what) {
  std::printf("{\"error\": \"%s\"}\n", what.c_str());
  std::exit(1);
}

void check(int status, const char* what) {
  if (status != 0) fail(std::string(what) + ": status " + std::to_string(status));
}

std::vector<char> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) fail("cannot open " + path);
  std::vector<char> bytes(size_t(file.tellg()));
  file.seekg(0);
  file.read(bytes.data(), std::streamsize(bytes.size()));
  if (!file) fail("cannot read " + path);
  return bytes;
}

struct Tiles {
  std::vector<char> file;
  std::vector<const unsigned char*> data;
  std::vector<size_t> lengths;

  explicit Tiles(const std::string& path) : file(bytes_of(path)) {
    const std::vector<char> index = bytes_of(path + ".idx");
    const auto* numbers = reinterpret_cast<const uint64_t*>(index.data());
    for (size_t i = 0; i < index.size() / 16; i++) {
      data.push_back(reinterpret_cast<const unsigned char*>(file.data()) + numbers[2 * i]);
      lengths.push_back(numbers[2 * i + 1]);
    }
  }
};

template <class F>
double median_seconds(F decode) {
  std::vector<double> times;
  for (int run = 0; run < 4; run++) {
    const auto start = std::chrono::steady_clock::now();
    decode();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (run > 0) times.push_back(taken.count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void report(const char* by, int how, double seconds, size_t bytes, const unsigned char* pool, const char* out) {
  std::printf("{\"by\": \"%s\", \"how\": %d, \"seconds\": %.6f, \"gb_s\": %.4f}\n", by, how, seconds,
              double(bytes) / seconds / 1e9);
  if (out == nullptr) return;
  std::vector<char> pixels(bytes);
  check(cudaMemcpy(pixels.data(), pool, bytes, cudaMemcpyDeviceToHost), "copy pixels back");
  std::ofstream(out, std::ios::binary).write(pixels.data(), std::streamsize(bytes));
}

unsigned char* pool_of(size_t bytes) {
  unsigned char* pool = nullptr;
  check(cudaMalloc(reinterpret_cast<void**>(&pool), bytes), "allocate the pool");
  check(cudaMemset(pool, 0xAB, bytes), "poison the pool");
  return pool;
}

void jpeg2000(const Tiles& tiles, size_t width, size_t height, size_t bands, size_t sample, int states, const char* out) {
  const size_t plane = width * height * sample, tile = plane * bands;
  unsigned char* pool = pool_of(tile * tiles.data.size());
  nvjpeg2kHandle_t handle;
  check(nvjpeg2kCreateSimple(&handle), "nvjpeg2kCreateSimple");
  struct State {
    nvjpeg2kDecodeState_t state;
    nvjpeg2kStream_t parsed[2];
    cudaStream_t stream;
    cudaEvent_t done[2];
  };
  std::vector<State> all(states);
  for (State& one : all) {
    check(nvjpeg2kDecodeStateCreate(handle, &one.state), "nvjpeg2kDecodeStateCreate");
    for (auto& parsed : one.parsed) check(nvjpeg2kStreamCreate(&parsed), "nvjpeg2kStreamCreate");
    check(cudaStreamCreateWithFlags(&one.stream, cudaStreamNonBlocking), "a stream");
    for (auto& done : one.done) check(cudaEventCreate(&done), "an event");
  }
  const double seconds = median_seconds([&] {
    std::atomic<size_t> next{0};
    std::vector<std::thread> threads;
    for (State& one : all) {
      threads.emplace_back([&] {
        for (size_t i, turn = 0; (i = next++) < tiles.data.size(); turn ^= 1) {
          // The other decode of this state must be done: a state has one in flight.
          check(cudaEventSynchronize(one.done[turn ^ 1]), "wait");
          check(nvjpeg2kStreamParse(handle, tiles.data[i], tiles.lengths[i], 0, 0, one.parsed[turn]), "parse");
          std::vector<void*> planes(bands);
          std::vector<size_t> pitches(bands, width * sample);
          for (size_t band = 0; band < bands; band++) planes[band] = pool + i * tile + band * plane;
          nvjpeg2kImage_t image{};
          image.pixel_data = planes.data();
          image.pitch_in_bytes = pitches.data();
          image.pixel_type = sample == 2 ? NVJPEG2K_UINT16 : NVJPEG2K_UINT8;
          image.num_components = uint32_t(bands);
          check(nvjpeg2kDecode(handle, one.state, one.parsed[turn], &image, one.stream), "nvjpeg2kDecode");
          check(cudaEventRecord(one.done[turn], one.stream), "record");
        }
        check(cudaStreamSynchronize(one.stream), "wait at the end");
      });
    }
    for (auto& thread : threads) thread.join();
  });
  report("nvJPEG2000", states, seconds, tile * tiles.data.size(), pool, out);
}

void jpeg(const Tiles& tiles, size_t width, size_t height, size_t bands, int backend, const char* out) {
  const size_t tile = width * height * bands, count = tiles.data.size();
  unsigned char* pool = pool_of(tile * count);
  nvjpegHandle_t handle;
  nvjpegJpegState_t state;
  check(nvjpegCreateEx(nvjpegBackend_t(backend), nullptr, nullptr, 0, &handle), "nvjpegCreateEx");
  check(nvjpegJpegStateCreate(handle, &state), "nvjpegJpegStateCreate");
  const nvjpegOutputFormat_t format = bands == 3 ? NVJPEG_OUTPUT_RGBI : NVJPEG_OUTPUT_Y;
  std::vector<nvjpegImage_t> images(count);
  for (size_t i = 0; i < count; i++) {
    images[i].channel[0] = pool + i * tile;
    images[i].pitch[0] = width * bands;
  }
  check(nvjpegDecodeBatchedInitialize(handle, state, int(count), 16, format), "nvjpegDecodeBatchedInitialize");
  cudaStream_t stream;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  const double seconds = median_seconds([&] {
    check(nvjpegDecodeBatched(handle, state, tiles.data.data(), tiles.lengths.data(), images.data(), stream),
          "nvjpegDecodeBatched");
    check(cudaStreamSynchronize(stream), "wait");
  });
  report("nvJPEG", backend, seconds, tile * count, pool, out);
}

}  // namespace

int main(int count, char** words) {
  if (count < 7) fail("words are missing");
  const std::string what = words[1];
  const Tiles tiles(words[2]);
  const size_t width = std::stoul(words[3]), height = std::stoul(words[4]), bands = std::stoul(words[5]);
  if (what == "jpeg2000" && count >= 8) {
    jpeg2000(tiles, width, height, bands, std::stoul(words[6]), std::stoi(words[7]), count > 8 ? words[8] : nullptr);
  } else {
    jpeg(tiles, width, height, bands, std::stoi(words[6]), count > 7 ? words[7] : nullptr);
  }
  return 0;
}
