//! The pinned ring under several threads.

use crate::{count, misuses, standin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use strile_cuda::device::Device;
use strile_cuda::memory::{Ring, SLAB_LEN, SLAB_TAIL};
use strile_engine::Cancel;

#[test]
fn slabs_come_back_when_their_copy_is_done_and_are_pinned_once() {
    const SENT: usize = 24;
    const PART: usize = 1000;
    let Some(standin) = standin() else { return };
    for seed in 1..9 {
        standin.reset();
        standin.set(&format!("seed={seed}"));
        let device = Device::open(0).unwrap();
        let ring = Ring::with(device.context(), 3);
        let stream = device.stream().unwrap();
        let buffer = device.pool().alloc(&stream, (SENT * PART) as u64).unwrap();
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= SENT {
                            return;
                        }
                        let mut slab = ring.take(&Cancel::default()).unwrap().unwrap();
                        assert_eq!(slab.len(), SLAB_LEN + SLAB_TAIL);
                        slab[10..10 + PART].fill(u8::try_from(number + 1).unwrap());
                        slab.send(&stream, 10..10 + PART, &buffer, (number * PART) as u64).unwrap();
                    }
                });
            }
        });
        let mut got = vec![0; SENT * PART];
        buffer.read(&stream, 0, &mut got).unwrap();
        let right = got.chunks(PART).zip(1u8..).all(|(part, number)| part.iter().all(|&byte| byte == number));
        assert!(right, "seed {seed}");
        assert!(ring.made() <= 3);
        drop((buffer, ring, stream, device));
        let calls = standin.calls();
        assert_eq!(misuses(&calls), [""; 0], "seed {seed}");
        assert!(count(&calls, "cuMemHostAlloc") <= 3);
        assert_eq!(count(&calls, "cuMemHostAlloc"), count(&calls, "cuMemFreeHost"));
        assert_eq!(count(&calls, "cuMemcpyHtoDAsync_v2"), SENT);
    }
}

#[test]
fn a_thread_that_waits_for_a_slab_can_be_cancelled_and_woken() {
    let Some(_standin) = standin() else { return };
    let device = Device::open(0).unwrap();
    let ring = Ring::with(device.context(), 1);
    let held = ring.take(&Cancel::default()).unwrap().unwrap();
    let cancel = Cancel::default();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| ring.take(&cancel));
        std::thread::sleep(Duration::from_millis(30));
        assert!(!waits.is_finished());
        cancel.cancel();
        assert!(waits.join().unwrap().unwrap().is_none());
        let waits = scope.spawn(|| ring.take(&Cancel::default()));
        drop(held);
        assert!(waits.join().unwrap().unwrap().is_some());
    });
    assert_eq!(ring.made(), 1);
}

#[test]
fn a_slab_that_cannot_be_made_or_sent_is_an_error_and_no_loss() {
    let Some(standin) = standin() else { return };
    let device = Device::open(0).unwrap();
    let stream = device.stream().unwrap();
    let buffer = device.pool().alloc(&stream, 100).unwrap();
    let ring = Ring::with(device.context(), 1);
    let take = || ring.take(&Cancel::default());
    standin.set("fail=cuMemHostAlloc:1:2");
    assert!(take().unwrap_err().is_out_of_memory());
    standin.set("fail=cuEventCreate:1:2");
    assert!(take().unwrap_err().is_out_of_memory());
    assert_eq!(ring.made(), 0);
    assert!(take().unwrap().unwrap().send(&stream, 0..101, &buffer, 0).is_err());
    assert!(take().unwrap().unwrap().send(&stream, SLAB_LEN..SLAB_LEN + SLAB_TAIL + 1, &buffer, 0).is_err());
    standin.set("fail=cuMemcpyHtoDAsync_v2:1:1");
    assert!(take().unwrap().unwrap().send(&stream, 0..100, &buffer, 0).is_err());
    standin.set("fail=cuEventRecord:1:1");
    assert!(take().unwrap().unwrap().send(&stream, 0..100, &buffer, 0).is_err());
    // The memory whose copy nobody can follow is given up, and another one made.
    assert_eq!(ring.made(), 0);
    take().unwrap().unwrap().send(&stream, 0..100, &buffer, 0).unwrap();
    assert!(take().unwrap().is_some());
    assert_eq!(ring.made(), 1);
    stream.synchronize().unwrap();
}
