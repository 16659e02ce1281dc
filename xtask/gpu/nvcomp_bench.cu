// nvCOMP's batched decompressors on the tiles of one TIFF, device to device:
//   nvcomp_bench FILE.tif CODEC TILE_BYTES [PIXELS_OUT]
// FILE.tif.idx (make_rasters.py writes it) lists the tiles. Inside the timer (events, median of 9 after 2 warm-ups):
// the decompression alone; statuses and sizes of all tiles are checked after the last run. One JSON line is printed.
// With PIXELS_OUT the decompressed bytes are written there, for a comparison with another decoder's.
//   nvcomp_bench compress FILE.tif CODEC TILE_BYTES
// decompresses the same tiles, then compresses them: a JSON line an effort (Deflate: 0, 1, 2) and a size of chunks (whole
// tiles, and 64 KiB, which nvCOMP is fastest with and a tile is not made of); the compression alone is timed.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <cuda_runtime.h>

#include "nvcomp/deflate.h"
#include "nvcomp/zstd.h"

namespace {

[[noreturn]] void fail(const std::string& what) {
  std::printf("{\"error\": \"%s\"}\n", what.c_str());
  std::exit(1);
}

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) fail(std::string(what) + ": " + cudaGetErrorString(error));
}

void check(nvcompStatus_t status, const char* what) {
  if (status != nvcompSuccess) fail(std::string(what) + ": nvCOMP status " + std::to_string(int(status)));
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

template <class T>
T* on_device(const std::vector<T>& values) {
  T* there = nullptr;
  check(cudaMalloc(reinterpret_cast<void**>(&there), values.size() * sizeof(T)), "allocate a list");
  check(cudaMemcpy(there, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "copy a list");
  return there;
}

template <class T>
std::vector<T> on_host(const T* there, size_t count) {
  std::vector<T> values(count);
  check(cudaMemcpy(values.data(), there, count * sizeof(T), cudaMemcpyDeviceToHost), "copy a list back");
  return values;
}

template <class Work>
float median_ms(Work work) {
  cudaEvent_t before, after;
  check(cudaEventCreate(&before), "event");
  check(cudaEventCreate(&after), "event");
  std::vector<float> times;
  for (int round = 0; round < 11; ++round) {
    check(cudaEventRecord(before), "event");
    work();
    check(cudaEventRecord(after), "event");
    check(cudaEventSynchronize(after), "wait");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, before, after), "event");
    if (round > 1) times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// Tiles as the decompressors want them: payloads alone, aligned to 16, one behind the other.
struct Tiles {
  std::vector<size_t> offsets, lengths;
  std::vector<char> bytes;
};

Tiles tiles_of(const std::string& path, bool zlib) {
  const std::vector<char> file = bytes_of(path), index = bytes_of(path + ".idx");
  Tiles tiles;
  tiles.bytes.reserve(file.size() + index.size());
  for (size_t at = 0; at + 16 <= index.size(); at += 16) {
    uint64_t entry[2];
    std::memcpy(entry, index.data() + at, 16);
    // A zlib stream is two bytes of header, raw Deflate, four bytes of Adler-32.
    const uint64_t head = zlib ? 2 : 0, around = zlib ? 6 : 0;
    if (entry[0] > file.size() || entry[1] > file.size() - entry[0]) fail("a tile outside the file");
    if (entry[1] <= around) fail("a tile without bytes");
    const size_t length = size_t(entry[1] - around);
    tiles.offsets.push_back(tiles.bytes.size());
    tiles.lengths.push_back(length);
    const char* start = file.data() + entry[0] + head;
    tiles.bytes.insert(tiles.bytes.end(), start, start + length);
    tiles.bytes.resize((tiles.bytes.size() + 15) / 16 * 16);
  }
  if (tiles.offsets.empty()) fail("no tiles");
  return tiles;
}

// Compresses `total` bytes in chunks with the calls of one codec, and prints a line.
template <class Options, class Bound, class Room, class Compress>
void compress(const char* bytes, size_t total, size_t chunk, int effort, Options options, Bound bound, Room room,
              Compress call) {
  const size_t n = (total + chunk - 1) / chunk;
  size_t most = 0, scratch_bytes = 0;
  check(bound(chunk, options, &most), "bound");
  most = (most + 15) / 16 * 16;
  check(room(n, chunk, options, &scratch_bytes, total, cudaStream_t(0)), "scratch");
  char *slab = nullptr, *scratch = nullptr;
  check(cudaMalloc(reinterpret_cast<void**>(&slab), n * most), "allocate the output");
  check(cudaMalloc(reinterpret_cast<void**>(&scratch), scratch_bytes + 16), "allocate scratch");
  std::vector<const void*> sources(n);
  std::vector<void*> targets(n);
  std::vector<size_t> lengths(n);
  for (size_t i = 0; i < n; ++i) {
    sources[i] = bytes + i * chunk;
    targets[i] = slab + i * most;
    lengths[i] = std::min(chunk, total - i * chunk);
  }
  const void** d_sources = on_device(sources);
  void** d_targets = on_device(targets);
  const size_t* d_lengths = on_device(lengths);
  size_t* d_written = on_device(std::vector<size_t>(n, 0));
  nvcompStatus_t* d_statuses = on_device(std::vector<nvcompStatus_t>(n, nvcompErrorInternal));
  const float ms = median_ms([&] {
    check(call(d_sources, d_lengths, chunk, n, scratch, scratch_bytes, d_targets, d_written, options, d_statuses,
               cudaStream_t(0)),
          "compress");
  });
  size_t bad = 0, sum = 0;
  const auto statuses = on_host(d_statuses, n);
  for (size_t i = 0; i < n; ++i) bad += statuses[i] != nvcompSuccess;
  for (const size_t size : on_host(d_written, n)) sum += size;
  std::printf("{\"effort\": %d, \"chunk\": %zu, \"chunks\": %zu, \"bad\": %zu, \"ms\": %.4f, \"gb_s\": %.3f, "
              "\"ratio\": %.4f, \"scratch_mb\": %.0f}\n",
              effort, chunk, n, bad, ms, double(total) / ms / 1e6, double(total) / double(std::max<size_t>(sum, 1)),
              double(scratch_bytes) / 1e6);
  std::fflush(stdout);
  for (void* memory : {static_cast<void*>(slab), static_cast<void*>(scratch), (void*)d_sources, (void*)d_targets,
                       (void*)d_lengths, static_cast<void*>(d_written), static_cast<void*>(d_statuses)})
    check(cudaFree(memory), "free");
}

void compress_all(const char* bytes, size_t total, size_t tile_bytes, bool deflate) {
  std::vector<size_t> chunks{tile_bytes};
  if (tile_bytes > 65536) chunks.push_back(65536);
  for (const size_t chunk : chunks) {
    for (int effort = 0; effort < (deflate ? 3 : 1); ++effort) {
      if (deflate) {
        nvcompBatchedDeflateCompressOpts_t options = {effort, {0}};
        compress(bytes, total, chunk, effort, options, nvcompBatchedDeflateCompressGetMaxOutputChunkSize,
                 nvcompBatchedDeflateCompressGetTempSize, nvcompBatchedDeflateCompressAsync);
      } else {
        compress(bytes, total, chunk, effort, nvcompBatchedZstdCompressOpts_t{},
                 nvcompBatchedZstdCompressGetMaxOutputChunkSize, nvcompBatchedZstdCompressGetTempSize,
                 nvcompBatchedZstdCompressAsync);
      }
    }
  }
}

}  // namespace

int main(int count, char** values) {
  const bool compresses = count > 1 && std::strcmp(values[1], "compress") == 0;
  if (compresses) {
    --count;
    ++values;
  }
  if (count < 4) fail("usage: nvcomp_bench [compress] FILE CODEC TILE_BYTES [PIXELS_OUT]");
  const std::string path = values[1], codec = values[2];
  const size_t tile_bytes = std::strtoull(values[3], nullptr, 10);
  const bool deflate = codec == "deflate";
  if (!deflate && codec != "zstd") fail("codec: deflate or zstd");
  const Tiles tiles = tiles_of(path, deflate);
  const size_t n = tiles.offsets.size(), total = n * tile_bytes;

  const char* encoded = on_device(tiles.bytes);
  char* decoded = nullptr;
  check(cudaMalloc(reinterpret_cast<void**>(&decoded), total), "allocate the output");
  check(cudaMemset(decoded, 0xA5, total), "poison the output");
  std::vector<const void*> sources(n);
  std::vector<void*> targets(n);
  for (size_t i = 0; i < n; ++i) {
    sources[i] = encoded + tiles.offsets[i];
    targets[i] = decoded + i * tile_bytes;
  }
  const void** d_sources = on_device(sources);
  void** d_targets = on_device(targets);
  const size_t* d_lengths = on_device(tiles.lengths);
  const size_t* d_room = on_device(std::vector<size_t>(n, tile_bytes));
  size_t* d_written = on_device(std::vector<size_t>(n, 0));
  nvcompStatus_t* d_statuses = on_device(std::vector<nvcompStatus_t>(n, nvcompErrorInternal));

  size_t scratch_bytes = 0;
  void* scratch = nullptr;
  auto allocate_scratch = [&] { check(cudaMalloc(&scratch, scratch_bytes + 16), "allocate scratch"); };
  float ms = 0;
  if (deflate) {
    nvcompBatchedDeflateDecompressOpts_t options = nvcompBatchedDeflateDecompressDefaultOpts;
    options.backend = NVCOMP_DECOMPRESS_BACKEND_CUDA;
    check(nvcompBatchedDeflateDecompressGetTempSize(n, tile_bytes, options, &scratch_bytes, total, 0), "scratch");
    allocate_scratch();
    ms = median_ms([&] {
      check(nvcompBatchedDeflateDecompressAsync(d_sources, d_lengths, d_room, d_written, n, scratch, scratch_bytes,
                                                d_targets, options, d_statuses, 0),
            "decompress");
    });
  } else {
    nvcompBatchedZstdDecompressOpts_t options = nvcompBatchedZstdDecompressDefaultOpts;
    options.backend = NVCOMP_DECOMPRESS_BACKEND_CUDA;
    check(nvcompBatchedZstdDecompressGetTempSize(n, tile_bytes, options, &scratch_bytes, total, 0), "scratch");
    allocate_scratch();
    ms = median_ms([&] {
      check(nvcompBatchedZstdDecompressAsync(d_sources, d_lengths, d_room, d_written, n, scratch, scratch_bytes,
                                             d_targets, options, d_statuses, 0),
            "decompress");
    });
  }
  size_t bad = 0;
  const auto statuses = on_host(d_statuses, n);
  const auto written = on_host(d_written, n);
  for (size_t i = 0; i < n; ++i) bad += statuses[i] != nvcompSuccess || written[i] != tile_bytes;
  if (compresses) {
    if (bad != 0) fail("tiles that nvCOMP does not decompress");
    compress_all(decoded, total, tile_bytes, deflate);
    return 0;
  }
  if (count > 4) {
    const auto pixels = on_host(decoded, total);
    std::ofstream(values[4], std::ios::binary).write(pixels.data(), std::streamsize(pixels.size()));
  }
  std::printf("{\"tiles\": %zu, \"bad\": %zu, \"ms\": %.4f, \"gb_s\": %.2f, \"scratch_mb\": %.0f}\n", n, bad, ms,
              double(total) / ms / 1e6, double(scratch_bytes) / 1e6);
  return bad == 0 ? 0 : 1;
}
