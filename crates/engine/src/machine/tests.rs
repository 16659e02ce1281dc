use super::*;
use std::fs;

/// Stand-ins for `/proc` and `/sys/fs/cgroup`, removed at the end.
struct System {
    root: PathBuf,
    roots: Roots,
}

impl System {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let root = std::env::temp_dir().join(format!("strile-machine-{}-{name}", std::process::id()));
        let roots = Roots { proc: root.join("proc"), cgroup: root.join("cgroup") };
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self { root, roots }
    }

    fn limit(&self) -> u64 {
        default_limit(&self.roots)
    }
}

impl Drop for System {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(&self.root);
    }
}

const GIB: u64 = 1 << 30;
const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal:       16777216 kB\nMemFree:  1 kB\n");

#[test]
fn physical_memory_where_nothing_else_limits() {
    assert_eq!(System::new("physical", &[MEMINFO]).limit(), 12 * GIB);
    assert_eq!(System::new("unknown", &[]).limit(), 4 * GIB);
}

/// Bug: only `/sys/fs/cgroup/memory.max` was read, so the limit of a nested cgroup was ignored.
#[test]
fn nested_cgroups_of_version_2_count() {
    let own = System::new(
        "v2",
        &[
            MEMINFO,
            ("proc/self/cgroup", "0::/user.slice/job/step\n"),
            ("cgroup/user.slice/memory.max", "max\n"),
            ("cgroup/user.slice/job/memory.max", "4294967296\n"),
            ("cgroup/user.slice/job/step/memory.max", "8589934592\n"),
        ],
    );
    assert_eq!(own.limit(), 3 * GIB, "the parent's limit");
    let high = System::new(
        "v2-high",
        &[MEMINFO, ("proc/self/cgroup", "0::/a\n"), ("cgroup/a/memory.high", "1073741824\n")],
    );
    assert_eq!(high.limit(), GIB / 4 * 3);
    // In a container the process sees its own cgroup as the top, or under its outside name.
    for path in ["/", "/docker/1234", "/../other"] {
        let contained = System::new(
            "v2-container",
            &[MEMINFO, ("proc/self/cgroup", &format!("0::{path}\n")), ("cgroup/memory.max", "2147483648\n")],
        );
        assert_eq!(contained.limit(), GIB / 2 * 3, "{path}");
    }
}

/// Bug: cgroup v1 was ignored.
#[test]
fn version_1_counts_too() {
    let cgroup = "12:pids:/x\n5:memory:/slurm/job_7\n1:name=systemd:/x\n0::/x\n";
    let limited = System::new(
        "v1",
        &[
            MEMINFO,
            ("proc/self/cgroup", cgroup),
            ("cgroup/memory/slurm/job_7/memory.limit_in_bytes", "9223372036854771712\n"),
            ("cgroup/memory/slurm/memory.limit_in_bytes", "8589934592\n"),
            ("cgroup/unified/x/memory.max", "max\n"),
        ],
    );
    assert_eq!(limited.limit(), 6 * GIB);
    let joined = System::new(
        "v1-joined",
        &[
            MEMINFO,
            ("proc/self/cgroup", "3:cpu,memory:/a\n"),
            ("cgroup/cpu,memory/a/memory.limit_in_bytes", "4294967296\n"),
        ],
    );
    assert_eq!(joined.limit(), 3 * GIB);
}

/// Bug: `ulimit -v` was ignored, so the budget exceeded what the process could have.
#[test]
fn resource_limits_count_less_what_is_taken() {
    let limits = |space: &str, data: &str| {
        format!(
            "Limit                     Soft Limit           Hard Limit           Units     \n\
             Max data size             {data}           unlimited            bytes     \n\
             Max address space         {space}           unlimited            bytes     \n"
        )
    };
    let status = ("proc/self/status", "Name:\tcat\nVmSize:\t 1048576 kB\nVmData:\t  524288 kB\n");
    let of = |name: &str, space: &str, data: &str| {
        System::new(name, &[MEMINFO, ("proc/self/limits", &limits(space, data)), status]).limit()
    };
    assert_eq!(of("unlimited", "unlimited", "unlimited"), 12 * GIB);
    assert_eq!(of("space", "3221225472", "unlimited"), GIB / 2 * 3);
    assert_eq!(of("data", "unlimited", "1610612736"), GIB / 4 * 3);
    assert_eq!(of("spent", "1048576", "unlimited"), 0);
}

#[test]
fn this_machine_has_a_limit() {
    assert!(default_limit(&Roots::default()) > 1 << 20);
}
