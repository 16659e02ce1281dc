//! Streams, events, memory and modules: freed with their owners, in the order of streams, on their device.

use crate::{count, misuses, standin};
use strile_cuda::device::{Device, devices};
use strile_cuda::driver::DriverError;
use strile_cuda::memory::Pinned;
use strile_cuda::stream::wait_for_caller;

#[test]
fn all_that_is_made_is_freed() {
    let Some(standin) = standin() else { return };
    for seed in 1..17 {
        standin.reset();
        standin.set(&format!("seed={seed}"));
        let device = Device::open(0).unwrap();
        let (copy, work) = (device.stream().unwrap(), device.stream().unwrap());
        let buffer = device.pool().alloc(&work, 4096).unwrap();
        let mut from = Pinned::new(device.context(), 4096).unwrap();
        for (at, byte) in from.iter_mut().enumerate() {
            *byte = u8::try_from(at % 251).unwrap();
        }
        let sent = from.to_vec();
        copy.wait_for(&work).unwrap();
        let up = buffer.upload(&copy, 0, from, 4096).unwrap();
        work.wait_for(&copy).unwrap();
        buffer.fill(&work, 100, 50, 7).unwrap();
        buffer.fill_u32(&work, 200, 3, 0x0102_0304).unwrap();
        let to = Pinned::new(device.context(), 5000).unwrap();
        let down = buffer.download(&work, 0, to, 4096).unwrap();
        let got = down.wait().unwrap();
        let mut expected = sent;
        expected[100..150].fill(7);
        expected[200..212].copy_from_slice(&[4, 3, 2, 1, 4, 3, 2, 1, 4, 3, 2, 1]);
        assert_eq!(got[..4096], expected);
        assert!(got[4096..].iter().all(|&byte| byte == 0));
        let mut part = [0u8; 10];
        buffer.read(&work, 145, &mut part).unwrap();
        assert_eq!(part, expected[145..155]);
        buffer.write(&work, 0, b"first").unwrap();
        assert_eq!((device.pool().current(), device.pool().allocations() > 0), (4096, true));
        // Dropped while its copy may still be on its way.
        drop(up);
        let (start, end) = (work.record_timed().unwrap(), work.record_timed().unwrap());
        end.synchronize().unwrap();
        end.since(&start).unwrap();
        drop((device, got));
        // They live on without the device, and the buffer is freed behind what is queued.
        buffer.fill(&work, 0, 4096, 1).unwrap();
        drop(buffer);
        work.synchronize().unwrap();
        drop((copy, work, start, end));
        let calls = standin.calls();
        assert_eq!(misuses(&calls), [""; 0], "seed {seed}");
        assert_eq!(standin.allocated(), 0, "seed {seed}");
        for (made, freed) in [
            ("cuStreamCreate", "cuStreamDestroy_v2"),
            ("cuEventCreate", "cuEventDestroy_v2"),
            ("cuMemPoolCreate", "cuMemPoolDestroy"),
            ("cuMemAllocFromPoolAsync", "cuMemFreeAsync"),
            ("cuMemHostAlloc", "cuMemFreeHost"),
            ("cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2"),
        ] {
            assert!(count(&calls, made) > 0, "{made}");
            assert_eq!(count(&calls, made), count(&calls, freed), "{made}, seed {seed}");
        }
        assert!(calls.iter().all(|call| !call.name.contains("CtxSynchronize")));
    }
}

#[test]
fn what_callers_queued_is_done_when_it_was_waited_for() {
    let Some(standin) = standin() else { return };
    // Even seeds do nothing that nobody waits for.
    for seed in [2, 4, 7] {
        standin.set(&format!("seed={seed}"));
        let device = Device::open(0).unwrap();
        let work = device.stream().unwrap();
        let buffer = device.pool().alloc(&work, 4).unwrap();
        standin.calls();
        buffer.fill(&work, 0, 4, 7).unwrap();
        let stream = standin.calls().iter().find_map(|call| call.stream).unwrap();
        let event = work.record().unwrap();
        assert!(seed % 2 == 1 || !event.happened().unwrap(), "seed {seed}");
        wait_for_caller(device.context(), stream).unwrap();
        assert!(event.happened().unwrap(), "seed {seed}");
        for default in [0, 1, 2] {
            wait_for_caller(device.context(), default).unwrap();
        }
        let error = wait_for_caller(device.context(), 0xdead_beef).unwrap_err();
        assert!(error.to_string().contains("cuEventRecord"), "{error}");
    }
    standin.reset();
}

#[test]
fn one_device_for_all_who_have_it_open() {
    let Some(standin) = standin() else { return };
    standin.set("devices=2");
    let (one, other) = (Device::open(0).unwrap(), Device::open(1).unwrap());
    assert!(std::ptr::eq(&raw const *one, &raw const *Device::open(0).unwrap()));
    assert!(!std::ptr::eq(&raw const *one, &raw const *other));
    assert_eq!((one.facts().index, other.facts().index), (0, 1));
    let calls = standin.calls();
    assert_eq!(count(&calls, "cuDevicePrimaryCtxRetain"), 2);
    // Facts need no context.
    assert_eq!(devices().unwrap(), [one.facts().clone(), other.facts().clone()]);
    assert_eq!(count(&standin.calls(), "cuDevicePrimaryCtxRetain"), 0);
    assert_eq!(one.budget().limit(), (7 << 30) / 10 * 9);
}

#[test]
fn a_binding_ends_with_the_context_there_was() {
    let Some(standin) = standin() else { return };
    standin.set("devices=2");
    let (one, other) = (Device::open(0).unwrap(), Device::open(1).unwrap());
    let bound = one.bind().unwrap();
    standin.calls();
    // What is bound already is not set again.
    let stream = one.stream().unwrap();
    assert_eq!(count(&standin.calls(), "cuCtxSetCurrent"), 0);
    // Another device's is set and taken back.
    let far = other.stream().unwrap();
    assert_eq!(count(&standin.calls(), "cuCtxSetCurrent"), 2);
    drop(one.pool().alloc(&stream, 16).unwrap());
    assert_eq!(count(&standin.calls(), "cuCtxSetCurrent"), 0);
    drop((stream, far, bound));
    assert_eq!(misuses(&standin.calls()), [""; 0]);
}

#[test]
fn memory_that_is_not_there_is_an_error() {
    let Some(standin) = standin() else { return };
    standin.set("free=1000000");
    let device = Device::open(0).unwrap();
    assert_eq!(device.budget().limit(), 900_000);
    let stream = device.stream().unwrap();
    let error = device.pool().alloc(&stream, 2_000_000).unwrap_err();
    assert!(error.is_out_of_memory(), "{error}");
    assert_eq!(error.to_string(), "`cuMemAllocFromPoolAsync` failed with CUDA_ERROR_OUT_OF_MEMORY (2)");
    assert_eq!((device.pool().current(), device.pool().peak()), (0, 0));
    assert!(device.pool().alloc(&stream, u64::MAX).unwrap_err().is_out_of_memory());
    let first = device.pool().alloc(&stream, 600_000).unwrap();
    assert!(device.pool().alloc(&stream, 600_000).is_err());
    assert_eq!((device.pool().current(), device.pool().peak()), (600_000, 600_000));
    drop(first);
    assert_eq!((device.pool().current(), device.pool().peak()), (0, 600_000));
    standin.set("fail=cuMemHostAlloc:1:2");
    assert!(Pinned::new(device.context(), 100).unwrap_err().is_out_of_memory());
}

#[test]
fn nothing_is_copied_or_filled_outside_a_buffer() {
    let Some(standin) = standin() else { return };
    let device = Device::open(0).unwrap();
    let stream = device.stream().unwrap();
    let buffer = device.pool().alloc(&stream, 100).unwrap();
    let outside = |offset, len| DriverError::OutOfBounds { offset, len, size: 100 };
    assert_eq!(buffer.fill(&stream, 90, 11, 0), Err(outside(90, 11)));
    assert_eq!(buffer.fill(&stream, u64::MAX, 2, 0), Err(outside(u64::MAX, 2)));
    assert_eq!(buffer.fill_u32(&stream, 0, u64::MAX / 2, 0), Err(outside(0, u64::MAX)));
    assert_eq!(buffer.read(&stream, 1, &mut [0; 100]), Err(outside(1, 100)));
    assert_eq!(buffer.write(&stream, 101, &[]), Err(outside(101, 0)));
    let pinned = || Pinned::new(device.context(), 10).unwrap();
    assert!(buffer.upload(&stream, 0, pinned(), 11).is_err());
    assert!(buffer.upload(&stream, 95, pinned(), 10).is_err());
    assert!(buffer.download(&stream, 0, pinned(), 11).is_err());
    // Nothing is nothing, and needs no driver.
    let none = device.pool().alloc(&stream, 0).unwrap();
    assert!(none.is_empty() && none.address() == 0);
    none.fill(&stream, 0, 0, 1).unwrap();
    none.read(&stream, 0, &mut []).unwrap();
    assert_eq!(
        none.upload(&stream, 0, Pinned::new(device.context(), 0).unwrap(), 0).unwrap().wait().unwrap().len(),
        0
    );
    drop((buffer, none, stream));
    drop(device);
    let calls = standin.calls();
    assert_eq!(count(&calls, "cuMemAllocFromPoolAsync"), 1);
    assert!(
        calls.iter().all(|call| !call.name.starts_with("cuMemcpy") && !call.name.starts_with("cuMemset"))
    );
}

#[test]
fn kernels_that_are_not_there_are_errors() {
    let Some(_standin) = standin() else { return };
    let device = Device::open(0).unwrap();
    let error = device.function("nothing", "nothing").unwrap_err();
    assert_eq!(error.to_string(), "no kernels called `nothing` are built in");
    if let Some(module) = strile_cuda::module::modules().first() {
        let error = device.function(module, "nothing").unwrap_err();
        assert!(error.to_string().starts_with("`cuModuleGetFunction` failed with "), "{error}");
    }
}
