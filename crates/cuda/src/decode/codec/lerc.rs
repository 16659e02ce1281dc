//! LERC: one CUDA block per image block. If the blob is compressed, passes of that codec first decompress it into
//! scratch.

use super::{Form, Kernel, Pass, deflate, zstd};
use strile_engine::BlockLayout;
use strile_tiff::{ByteOrder, LercWrapper};

const LERC: Kernel = Kernel {
    module: "lerc",
    passes: &[Pass { entry: "lerc_decode", threads: 128, grid: |count, _| count }],
    scratch: |_, dst_len| mask_len(dst_len),
};

const LERC_DEFLATE: Kernel = Kernel {
    module: "lerc_deflate",
    passes: &[
        Pass { entry: "lerc_deflate_unwrap", threads: 64, grid: |count, sms| deflate::only(2, count, sms) },
        Pass {
            entry: "lerc_deflate_unwrap_wide",
            threads: 128,
            grid: |count, sms| deflate::only(4, count, sms),
        },
        Pass { entry: "lerc_deflate_decode", threads: 128, grid: |count, _| count },
    ],
    scratch: |_, dst_len| around_len(dst_len) + mask_len(dst_len),
};

const LERC_ZSTD: Kernel = Kernel {
    module: "lerc_zstd",
    passes: &[
        Pass { entry: "lerc_zstd_scan", threads: 32, grid: |count, _| count },
        Pass { entry: "lerc_zstd_entropy", threads: 64, grid: zstd::entropy_grid },
        Pass { entry: "lerc_zstd_execute", threads: 128, grid: |count, _| count },
        Pass { entry: "lerc_zstd_decode", threads: 128, grid: |count, _| count },
    ],
    scratch: |src_len, dst_len| around_len(dst_len) + zstd::scratch(src_len, longest(dst_len)),
};

/// Returns the kernel for blobs with this wrapper.
pub(super) fn kernel(around: LercWrapper) -> &'static Kernel {
    match around {
        LercWrapper::None => &LERC,
        LercWrapper::Zstd => &LERC_ZSTD,
        LercWrapper::Deflate => &LERC_DEFLATE,
    }
}

/// Checks whether kernels support the samples of a layout; the error names what they do not support.
pub(super) fn takes(layout: &BlockLayout) -> Result<(), String> {
    if layout.byte_order == ByteOrder::Big && layout.data_type.size() > 1 {
        return Err("samples of a big-endian file".to_owned());
    }
    match Form::of(layout).sample {
        Form::OTHER => Err(format!("samples of {}", layout.data_type)),
        _ => Ok(()),
    }
}

/// Returns the longest wrapped blob that kernels accept, as in `lerc_around.cuh`: raw samples, a mask, ranges and a
/// header.
fn longest(dst_len: u32) -> u32 {
    dst_len.saturating_add(dst_len / 8).saturating_add(1024)
}

/// Returns the scratch for a wrapped blob: a head, the blob, and the bytes that may be read behind it.
fn around_len(dst_len: u32) -> u64 {
    256 + (u64::from(longest(dst_len)) + 64).next_multiple_of(256)
}

/// Returns the bytes of a mask: one bit per pixel, and there are at most as many pixels as bytes.
fn mask_len(dst_len: u32) -> u64 {
    u64::from(dst_len).div_ceil(8)
}
