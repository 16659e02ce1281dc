// Sequential JPEG with Huffman codes: pictures of a batch, each of one or more scans, in four passes. Coefficients of all
// scans (`jpeg_scan.cuh`), DC (`jpeg_dc.cuh`), samples (`jpeg_transform.cuh`), pixels (`jpeg_pixels.cuh`).
//
// The host took the streams apart: it gives bytes without stuffing and markers, and look-up tables. A scan with a fault
// ends there; the later passes leave its picture alone, and the last one reports.
#include "jpeg/jpeg_dc.cuh"
#include "jpeg/jpeg_pixels.cuh"
#include "jpeg/jpeg_scan.cuh"
#include "jpeg/jpeg_transform.cuh"

namespace jpeg {

// What is wrong with any scan of a picture.
DEVICE u32 picture_fault(const JpegArgs& args, const JpegPicture& picture) {
  u32 fault = FAULT_NONE;
  for (u32 i = 0; i < picture.scan_count; ++i) fault = max(fault, args.faults[picture.first_scan + i]);
  return fault;
}

}  // namespace jpeg

// A CUDA block a scan.
KERNEL_RESIDENT(jpeg_scans, jpeg::SCAN_THREADS, 6, JpegArgs) {
  SHARED(jpeg::ScanShared, shared);
  if (blockIdx.x >= args.scan_count) return;
  const u32 fault = jpeg::decode_scan(shared, args.scans[blockIdx.x]);
  if (threadIdx.x == 0) args.faults[blockIdx.x] = fault;
}

// A CUDA block a scan.
KERNEL(jpeg_dc, jpeg::DC_THREADS, JpegArgs) {
  SHARED(jpeg::DcShared, shared);
  if (blockIdx.x >= args.scan_count || args.faults[blockIdx.x] != FAULT_NONE) return;
  jpeg::sum_differences(shared, args.scans[blockIdx.x]);
}

// A column of CUDA blocks a picture.
KERNEL(jpeg_transform, jpeg::TRANSFORM_THREADS, JpegArgs) {
  SHARED(jpeg::TransformShared, shared);
  if (blockIdx.x >= args.picture_count) return;
  const JpegPicture& picture = args.pictures[blockIdx.x];
  if (jpeg::picture_fault(args, picture) == FAULT_NONE) jpeg::transform_picture(shared, picture);
}

// A column of CUDA blocks a picture.
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
