//! Files read into device memory by the stand-in for cuFile.

use crate::{misuses, standin};
use std::fs::File;
use strile_cuda::cufile::{CuFile, CuFileError};
use strile_cuda::device::Device;

#[test]
fn a_file_is_read_into_device_memory() {
    let Some(standin) = standin() else { return };
    let device = Device::open(0).unwrap();
    let library = CuFile::open(device.context().driver()).unwrap();
    let path = std::env::temp_dir().join(format!("strile-cufile-{}", std::process::id()));
    let bytes: Vec<u8> = (0..10_000u32).map(|n| u8::try_from(n % 253).unwrap()).collect();
    std::fs::write(&path, &bytes).unwrap();
    let file = library.register(File::open(&path).unwrap()).unwrap();
    std::fs::remove_file(&path).unwrap();
    let stream = device.stream().unwrap();
    let buffer = device.pool().alloc(&stream, 8000).unwrap();
    buffer.fill(&stream, 0, 8000, 0).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(file.read(100, &buffer, 50, 7000), Ok(7000));
    let mut got = vec![0; 8000];
    buffer.read(&stream, 0, &mut got).unwrap();
    assert_eq!(got[50..7050], bytes[100..7100]);
    assert!(got[..50].iter().chain(&got[7050..]).all(|&byte| byte == 0));
    // Past the end there is less, and then nothing; outside the buffer nothing is read.
    assert_eq!(file.read(9990, &buffer, 0, 100), Ok(10));
    assert_eq!(file.read(20_000, &buffer, 0, 100), Ok(0));
    assert!(matches!(file.read(0, &buffer, 7990, 11), Err(CuFileError::Driver(_))));
    assert!(matches!(file.read(u64::MAX, &buffer, 0, 1), Err(CuFileError::Driver(_))));
    // Reads that come in pieces are put together.
    standin.set("short=1000");
    assert_eq!(file.read(3000, &buffer, 0, 4500), Ok(4500));
    buffer.read(&stream, 0, &mut got).unwrap();
    assert_eq!(got[..4500], bytes[3000..7500]);
    standin.set("fail=cuFileHandleRegister:1:5027");
    let refused = library.register(File::open(std::env::current_exe().unwrap()).unwrap());
    assert_eq!(refused.err(), Some(CuFileError::Refused { code: 5027, module: false }));
    drop((file, buffer, stream, device));
    assert_eq!(misuses(&standin.calls()), [""; 0]);
}
