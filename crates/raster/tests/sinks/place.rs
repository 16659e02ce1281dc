//! Where a file goes, what it keeps of the one it replaces, and where none can be.

use super::{names, refused, write};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use strile::io::{FileSink, Sink};
use tempfile::tempdir;

#[test]
fn the_target_is_there_after_the_commit_only() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.tif");
    let mut sink = Box::new(FileSink::create(&path, false).unwrap());
    sink.append(b"new").unwrap();
    assert_eq!(names(folder.path()), [".x.tif.strile.tmp"]);
    sink.commit().unwrap();
    assert_eq!(names(folder.path()), ["x.tif"]);
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[test]
fn aborted_or_dropped_leaves_nothing_and_the_old_file() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.tif");
    fs::write(&path, "old").unwrap();
    for abort in [true, false] {
        let mut sink = Box::new(FileSink::create(&path, true).unwrap());
        sink.append(&vec![1; 3 << 20]).unwrap();
        if abort {
            sink.abort();
        } else {
            drop(sink);
        }
        assert_eq!(names(folder.path()), ["x.tif"]);
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }
}

#[test]
fn nothing_is_overwritten_without_leave() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.tif");
    fs::write(&path, "old").unwrap();
    let (kind, message) = refused(&path, false);
    assert_eq!(kind, ErrorKind::AlreadyExists);
    assert_eq!(message, "the file exists; set `overwrite` to replace it");
    assert_eq!(names(folder.path()), ["x.tif"]);
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[test]
fn a_target_that_came_meanwhile_is_not_overwritten_without_leave() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.tif");
    let mut sink = Box::new(FileSink::create(&path, false).unwrap());
    sink.append(b"new").unwrap();
    fs::write(&path, "other").unwrap();
    let error = sink.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert!(error.to_string().starts_with("was created by another program while it was written"), "{error}");
    assert_eq!(names(folder.path()), ["x.tif"]);
    assert_eq!(fs::read(&path).unwrap(), b"other");
}

#[test]
fn folders_and_missing_folders_are_refused() {
    let folder = tempdir().unwrap();
    let (kind, message) = refused(folder.path(), true);
    assert_eq!((kind, message.as_str()), (ErrorKind::IsADirectory, "expected a file, got a directory"));
    let (kind, message) = refused(&folder.path().join("none/x.tif"), true);
    assert_eq!(kind, ErrorKind::NotFound);
    assert!(message.ends_with("none` does not exist; make it first"), "{message}");
    assert_eq!(refused(Path::new(""), true).0, ErrorKind::InvalidInput);
}

#[test]
fn a_name_as_long_as_names_can_be() {
    let folder = tempdir().unwrap();
    let name = format!("{}.tif", "n".repeat(251));
    write(&folder.path().join(&name), b"new");
    assert_eq!(names(folder.path()), [name]);
}

#[test]
fn an_error_stops_the_sink_and_the_old_file_stays() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.tif");
    fs::write(&path, "old").unwrap();
    let mut sink = Box::new(FileSink::create(&path, true).unwrap());
    sink.append(b"new").unwrap();
    let error = sink.patch(2, b"ab").unwrap_err();
    assert_eq!(error.to_string(), "2 bytes at 2 are not among the 3 written ones");
    assert!(sink.append(b"more").is_err());
    let error = sink.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(names(folder.path()), ["x.tif"]);
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[test]
fn a_commit_that_fails_leaves_no_temporary() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.tif");
    let mut sink = Box::new(FileSink::create(&path, true).unwrap());
    sink.append(b"new").unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(sink.commit().unwrap_err().kind(), ErrorKind::IsADirectory);
    assert_eq!(names(folder.path()), ["x.tif"]);
}

#[test]
fn whoever_reads_the_old_file_keeps_it() {
    use std::io::Read;
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.tif");
    fs::write(&path, "old").unwrap();
    let mut reader = fs::File::open(&path).unwrap();
    write(&path, b"new");
    let mut read = String::new();
    reader.read_to_string(&mut read).unwrap();
    assert_eq!(read, "old");
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn is_root() -> bool {
        let file = tempfile::tempfile().unwrap();
        file.metadata().unwrap().uid() == 0
    }

    #[test]
    fn the_mode_of_the_old_file_is_kept_and_a_new_one_has_the_usual() {
        let folder = tempdir().unwrap();
        let (path, usual) = (folder.path().join("x.tif"), folder.path().join("usual"));
        fs::write(&usual, "").unwrap();
        write(&path, b"new");
        assert_eq!(mode(&path), mode(&usual));
        for kept in [0o600, 0o640, 0o666, 0o751] {
            fs::set_permissions(&path, fs::Permissions::from_mode(kept)).unwrap();
            write(&path, b"newer");
            assert_eq!(mode(&path), kept);
        }
    }

    #[test]
    fn a_private_file_is_private_while_it_is_written() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("x.tif");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let sink = FileSink::create(&path, true).unwrap();
        assert_eq!(mode(&folder.path().join(".x.tif.strile.tmp")), 0o600);
        drop(sink);
    }

    #[test]
    fn the_owner_is_kept_where_one_may() {
        if !is_root() {
            eprintln!("skipped: only root gives files away");
            return;
        }
        let folder = tempdir().unwrap();
        let path = folder.path().join("x.tif");
        fs::write(&path, "old").unwrap();
        chown(&path, Some(1234), Some(2345)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o6640)).unwrap();
        write(&path, b"new");
        let found = fs::metadata(&path).unwrap();
        assert_eq!((found.uid(), found.gid(), found.mode() & 0o7777), (1234, 2345, 0o6640));
    }

    #[test]
    fn a_file_that_may_not_be_written_is_not_replaced() {
        if is_root() {
            eprintln!("skipped: root may write everything");
            return;
        }
        let folder = tempdir().unwrap();
        let path = folder.path().join("x.tif");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        assert_eq!(refused(&path, true).0, ErrorKind::PermissionDenied);
        assert_eq!(names(folder.path()), ["x.tif"]);
    }

    #[test]
    fn a_link_stays_and_the_file_it_leads_to_is_replaced() {
        let folder = tempdir().unwrap();
        let elsewhere = folder.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("real.tif"), "old").unwrap();
        // A link to a relative link: each is read from where it lies.
        symlink("real.tif", elsewhere.join("middle.tif")).unwrap();
        let link = folder.path().join("link.tif");
        symlink(elsewhere.join("middle.tif"), &link).unwrap();
        assert_eq!(refused(&link, false).0, ErrorKind::AlreadyExists);
        write(&link, b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(elsewhere.join("real.tif")).unwrap(), b"new");
        assert_eq!(names(&elsewhere), ["middle.tif", "real.tif"]);
        assert_eq!(names(folder.path()), ["elsewhere", "link.tif"]);
    }

    #[test]
    fn a_link_to_nothing_gets_its_file() {
        let folder = tempdir().unwrap();
        let link = folder.path().join("link.tif");
        symlink("real.tif", &link).unwrap();
        write(&link, b"new");
        assert_eq!(fs::read(folder.path().join("real.tif")).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_link_to_itself_and_a_pipe_are_refused() {
        let folder = tempdir().unwrap();
        let around = folder.path().join("around.tif");
        symlink("around.tif", &around).unwrap();
        refused(&around, true);
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (kind, message) = refused(&pipe, true);
        assert_eq!(kind, ErrorKind::InvalidInput);
        assert!(message.starts_with("is a pipe or a device"), "{message}");
        assert_eq!(refused(Path::new("/dev/null"), true).0, ErrorKind::InvalidInput);
    }
}
