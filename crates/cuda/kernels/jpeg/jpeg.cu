// Sequential JPEG with Huffman codes: decodes the pictures of a batch, each of one or more scans, in four passes:
// coefficients of all scans (`jpeg_scan.cuh`), DC (`jpeg_dc.cuh`), samples (`jpeg_transform.cuh`), pixels
// (`jpeg_pixels.cuh`).
//
// The host parses the streams: it passes bytes without stuffing and markers, and look-up tables. Decoding of a scan
// ends at a fault; the later passes then skip its picture, and the last one reports the fault.
#include "jpeg/jpeg_dc.cuh"
#include "jpeg/jpeg_pixels.cuh"
#include "jpeg/jpeg_scan.cuh"
#include "jpeg/jpeg_transform.cuh"

namespace jpeg {

// Fault of any scan of a picture.
DEVICE u32 picture_fault(const JpegArgs& args, const JpegPicture& picture) {
  u32 fault = FAULT_NONE;
  for (u32 i = 0; i < picture.scan_count; ++i) fault = max(fault, args.faults[picture.first_scan + i]);
  return fault;
}

}  // namespace jpeg

// One CUDA block per scan.
KERNEL_RESIDENT(jpeg_scans, jpeg::SCAN_THREADS, 6, JpegArgs) {
  SHARED(jpeg::ScanShared, shared);
  if (blockIdx.x >= args.scan_count) return;
  const u32 fault = jpeg::decode_scan(shared, args.scans[blockIdx.x]);
  if (threadIdx.x == 0) args.faults[blockIdx.x] = fault;
}

// One CUDA block per scan.
KERNEL(jpeg_dc, jpeg::DC_THREADS, JpegArgs) {
  SHARED(jpeg::DcShared, shared);
  if (blockIdx.x >= args.scan_count || args.faults[blockIdx.x] != FAULT_NONE) return;
  jpeg::sum_differences(shared, args.scans[blockIdx.x]);
}

// One column of CUDA blocks per picture.
KERNEL(jpeg_transform, jpeg::TRANSFORM_THREADS, JpegArgs) {
  SHARED(jpeg::TransformShared, shared);
  if (blockIdx.x >= args.picture_count) return;
  const JpegPicture& picture = args.pictures[blockIdx.x];
  if (jpeg::picture_fault(args, picture) == FAULT_NONE) jpeg::transform_picture(shared, picture);
}

// One column of CUDA blocks per picture.
KERNEL(jpeg_pixels, jpeg::PIXELS_THREADS, JpegArgs) {
  SHARED(jpeg::PixelsShared, shared);
  if (blockIdx.x >= args.picture_count) return;
  const JpegPicture& picture = args.pictures[blockIdx.x];
  const u32 fault = jpeg::picture_fault(args, picture);
  if (blockIdx.y == 0 && threadIdx.x == 0) args.statuses[picture.status] = fault;
  if (fault != FAULT_NONE) return;
  if (picture.components == 1) jpeg::make_pixels<1>(shared, picture);
  if (picture.components == 3) jpeg::make_pixels<3>(shared, picture);
  if (picture.components == 4) jpeg::make_pixels<4>(shared, picture);
}
