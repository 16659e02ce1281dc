//! The stand-in driver does what it is for: nothing before it is waited for, wrong orders show, misuse is an error.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(unsafe_code, reason = "calls the driver's functions as a program would")]
#![allow(non_snake_case, reason = "the driver's names")]

use std::ffi::{CString, c_char, c_void};

use libloading::os::unix::{Library, RTLD_NOW};
use strile_emulate::{Alone, StandIn};

/// The driver as a program finds it: by name.
struct Cuda(Library);

macro_rules! call {
    ($cuda:expr, $name:ident($($arg:expr => $kind:ty),*)) => {
        // SAFETY: the signatures are the driver's, the arguments live through the call.
        unsafe {
            let name = concat!(stringify!($name), "\0").as_bytes();
            (*$cuda.0.get::<unsafe extern "C" fn($($kind),*) -> i32>(name).unwrap())($($arg),*)
        }
    };
}

impl Cuda {
    fn open() -> (Alone, Self) {
        let standin = StandIn::load().unwrap().alone();
        // SAFETY: loaded already.
        let cuda = Self(unsafe { Library::open(Some("libcuda.so.1"), RTLD_NOW) }.unwrap());
        assert_eq!(call!(cuda, cuInit(0 => u32)), 0);
        let mut context = 0u64;
        assert_eq!(call!(cuda, cuDevicePrimaryCtxRetain(&mut context => *mut u64, 0 => i32)), 0);
        assert_eq!(call!(cuda, cuCtxSetCurrent(context => u64)), 0);
        (standin, cuda)
    }

    fn stream(&self) -> u64 {
        let mut stream = 0;
        assert_eq!(call!(self, cuStreamCreate(&mut stream => *mut u64, 1 => u32)), 0);
        stream
    }

    fn event(&self) -> u64 {
        let mut event = 0;
        assert_eq!(call!(self, cuEventCreate(&mut event => *mut u64, 2 => u32)), 0);
        event
    }

    fn alloc(&self, size: usize, stream: u64) -> u64 {
        let mut address = 0;
        assert_eq!(call!(self, cuMemAllocAsync(&mut address => *mut u64, size => usize, stream => u64)), 0);
        assert_eq!(address % 256, 0);
        address
    }

    fn pinned(&self, size: usize) -> &'static mut [u8] {
        let mut start = std::ptr::null_mut::<c_void>();
        assert_eq!(call!(self, cuMemHostAlloc(&mut start => *mut *mut c_void, size => usize, 0 => u32)), 0);
        // SAFETY: so many bytes were allocated, and the test frees them last.
        unsafe { std::slice::from_raw_parts_mut(start.cast(), size) }
    }

    fn up(&self, to: u64, from: &[u8], stream: u64) -> i32 {
        let start = from.as_ptr().cast();
        call!(self, cuMemcpyHtoDAsync_v2(to => u64, start => *const c_void, from.len() => usize, stream => u64))
    }

    fn down(&self, to: &mut [u8], from: u64, stream: u64) -> i32 {
        let start = to.as_mut_ptr().cast();
        call!(self, cuMemcpyDtoHAsync_v2(start => *mut c_void, from => u64, to.len() => usize, stream => u64))
    }

    fn sync(&self, stream: u64) -> i32 {
        call!(self, cuStreamSynchronize(stream => u64))
    }

    fn free(&self, address: u64, stream: u64) -> i32 {
        call!(self, cuMemFreeAsync(address => u64, stream => u64))
    }
}

#[test]
fn nothing_happens_before_it_is_waited_for() {
    let (standin, cuda) = Cuda::open();
    standin.set("seed=4");
    let stream = cuda.stream();
    let (from, to) = (cuda.pinned(1000), cuda.pinned(1000));
    from.fill(7);
    to.fill(0);
    let device = cuda.alloc(1000, stream);
    assert_eq!(cuda.up(device, from, stream), 0);
    assert_eq!(cuda.down(to, device, stream), 0);
    assert!(to.iter().all(|&b| b == 0), "not copied yet");
    from.fill(9); // too early: the copy reads it later
    assert_eq!(cuda.sync(stream), 0);
    assert!(to.iter().all(|&b| b == 9));
    assert_eq!(cuda.free(device, stream), 0);
    assert_eq!(cuda.sync(stream), 0);
    assert_eq!(standin.allocated(), 0);
    let calls = standin.calls();
    let copies: Vec<_> = calls.iter().filter(|c| c.name.starts_with("cuMemcpy")).collect();
    assert_eq!(copies.len(), 2);
    assert!(copies.iter().all(|c| c.size == Some(1000) && c.stream == Some(stream) && c.result == 0));
    assert_eq!(copies[0].fact("pinned"), Some("1"));
}

#[test]
fn an_event_orders_streams_and_a_missing_one_shows() {
    let (standin, cuda) = Cuda::open();
    let mut wrong = 0;
    for seed in 0..16 {
        standin.set(&format!("seed={seed}"));
        for with_event in [true, false] {
            let (a, b, event) = (cuda.stream(), cuda.stream(), cuda.event());
            let (from, to) = (cuda.pinned(64), cuda.pinned(64));
            from.fill(5);
            let device = cuda.alloc(64, a);
            cuda.up(device, from, a);
            assert_eq!(call!(cuda, cuEventRecord(event => u64, a => u64)), 0);
            if with_event {
                assert_eq!(call!(cuda, cuStreamWaitEvent(b => u64, event => u64, 0 => u32)), 0);
            }
            cuda.down(to, device, b);
            assert_eq!(cuda.sync(b), 0);
            let right = to.iter().all(|&byte| byte == 5);
            assert!(right || !with_event, "seed {seed}");
            wrong += u32::from(!right);
            assert_eq!(cuda.free(device, b), 0);
            assert_eq!(cuda.sync(a), 0);
            assert_eq!(cuda.sync(b), 0);
        }
    }
    assert!(wrong >= 8, "{wrong} of 16 seeds found the missing event");
}

#[test]
fn queries_make_progress() {
    let (_standin, cuda) = Cuda::open();
    let (stream, event) = (cuda.stream(), cuda.event());
    let device = cuda.alloc(256, stream);
    for value in 0..5u8 {
        assert_eq!(call!(cuda, cuMemsetD8Async(device => u64, value => u8, 256 => usize, stream => u64)), 0);
    }
    assert_eq!(call!(cuda, cuEventRecord(event => u64, stream => u64)), 0);
    assert_eq!(call!(cuda, cuEventQuery(event => u64)), 600, "not ready");
    let mut asked = 0;
    while call!(cuda, cuEventQuery(event => u64)) == 600 {
        asked += 1;
        assert!(asked < 1000);
    }
    assert_eq!(cuda.free(device, stream), 0);
    assert_eq!(cuda.sync(stream), 0);
}

#[test]
fn misuse_is_an_error_that_stays() {
    let (standin, cuda) = Cuda::open();
    let stream = cuda.stream();
    let device = cuda.alloc(100, stream);
    let bytes = [0; 100];
    assert_eq!(cuda.free(device, stream), 0);
    assert_eq!(cuda.up(device, &bytes, stream), 0, "it is found when its turn comes");
    assert_eq!(cuda.sync(stream), 700, "use after free");
    assert_eq!(cuda.sync(stream), 700);
    assert!(standin.calls().iter().any(|c| c.name == "!" && c.facts.contains("no live allocation")));
    standin.reset();
    let device = cuda.alloc(100, stream);
    assert_eq!(cuda.up(device, &[0; 101], stream), 0);
    assert_eq!(cuda.sync(stream), 700, "past the end");
    standin.reset();
    let host = cuda.pinned(100);
    assert_eq!(cuda.up(device, host, stream), 0);
    assert_eq!(call!(cuda, cuMemFreeHost(host.as_mut_ptr().cast() => *mut c_void)), 700, "in use");
    standin.reset();
    assert_eq!(cuda.free(device, stream), 0);
    assert_eq!(cuda.free(device, stream), 1, "freed twice");
    standin.reset();
    assert_eq!(cuda.sync(stream), 0);
}

#[test]
fn knobs() {
    let (standin, cuda) = Cuda::open();
    let stream = cuda.stream();
    standin.set("free=1000 total=2000 driver=11080 major=7 minor=5 fail=cuStreamCreate:2:304");
    let (mut free, mut total) = (0, 0);
    assert_eq!(call!(cuda, cuMemGetInfo_v2(&mut free => *mut usize, &mut total => *mut usize)), 0);
    assert_eq!((free, total), (1000, 2000));
    let device = cuda.alloc(600, stream);
    let mut more = 0u64;
    assert_eq!(call!(cuda, cuMemAllocAsync(&mut more => *mut u64, 500 => usize, stream => u64)), 2);
    assert_eq!(cuda.free(device, stream), 0);
    let again = cuda.alloc(500, stream); // freed before, on the same stream
    assert_eq!(cuda.free(again, stream), 0);
    let mut version = 0;
    assert_eq!(call!(cuda, cuDriverGetVersion(&mut version => *mut i32)), 0);
    assert_eq!(version, 11080);
    cuda.stream();
    let mut failed = 0u64;
    assert_eq!(call!(cuda, cuStreamCreate(&mut failed => *mut u64, 1 => u32)), 304);
    cuda.stream();
    standin.set("devices=0");
    assert_eq!(call!(cuda, cuInit(0 => u32)), 100);
    assert_eq!(cuda.sync(stream), 0);
}

#[test]
fn an_image_says_which_kernels_there_are() {
    let (standin, cuda) = Cuda::open();
    let stream = cuda.stream();
    let mut module = 0u64;
    let image = CString::new(".version 8.0\n.visible .entry no_such_kernel(\n").unwrap();
    assert_eq!(call!(cuda, cuModuleLoadData(&mut module => *mut u64, image.as_ptr() => *const c_char)), 0);
    let mut function = 0u64;
    for name in ["no_such_kernel", "not_in_the_image"] {
        let name = CString::new(name).unwrap();
        let code = call!(cuda, cuModuleGetFunction(
            &mut function => *mut u64, module => u64, name.as_ptr() => *const c_char));
        assert_eq!(code, 500, "not found");
    }
    let bad = CString::new("no image").unwrap();
    assert_eq!(call!(cuda, cuModuleLoadData(&mut module => *mut u64, bad.as_ptr() => *const c_char)), 200);
    assert_eq!(cuda.sync(stream), 0);
    drop(standin);
}

#[test]
fn files_into_device_memory() {
    let (standin, cuda) = Cuda::open();
    // SAFETY: loaded already.
    let cufile = Cuda(unsafe { Library::open(Some("libcufile.so.0"), RTLD_NOW) }.unwrap());
    let stream = cuda.stream();
    let path = std::env::temp_dir().join(format!("strile-standin-{}", std::process::id()));
    std::fs::write(&path, (0..=255).collect::<Vec<u8>>()).unwrap();
    let file = std::fs::File::open(&path).unwrap();
    #[repr(C)]
    struct Description {
        kind: i32,
        fd: i64,
        operations: u64,
    }
    let description =
        Description { kind: 1, fd: i64::from(std::os::fd::AsRawFd::as_raw_fd(&file)), operations: 0 };
    let mut handle = 0u64;
    assert_eq!(call!(cufile, cuFileDriverOpen()), 0);
    let code =
        call!(cufile, cuFileHandleRegister(&mut handle => *mut u64, &description => *const Description));
    assert_eq!(code, 0);
    let device = cuda.alloc(100, stream);
    type Read = unsafe extern "C" fn(u64, u64, usize, i64, i64) -> isize;
    // SAFETY: the signature is cuFile's.
    let read = unsafe { *cufile.0.get::<Read>(b"cuFileRead\0").unwrap() };
    let ask = |size, offset, at| {
        // SAFETY: the handle is registered; bad ranges are the stand-in's to find.
        unsafe { read(handle, device, size, offset, at) }
    };
    assert_eq!(ask(50, 10, 50), 50);
    assert_eq!(ask(50, 230, 0), 26, "the file ends");
    assert_eq!(ask(51, 0, 50), -5014, "past the allocation");
    standin.set("short=20 fail=cuFileRead:2:5044");
    assert_eq!(ask(50, 10, 0), 20);
    assert_eq!(ask(50, 10, 0), -5044);
    let mut host = [0; 100];
    assert_eq!(cuda.down(&mut host, device, stream), 0);
    assert_eq!(host[50..], (10..60).collect::<Vec<u8>>());
    assert_eq!(host[..20], (10..30).collect::<Vec<u8>>());
    assert_eq!(cuda.free(device, stream), 0);
    assert_eq!(cuda.sync(stream), 0);
    assert_eq!(standin.calls().iter().filter(|c| c.name == "cuFileRead").count(), 5);
    std::fs::remove_file(&path).unwrap();
}
