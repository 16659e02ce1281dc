//! Temporaries of writers that live and of those that do not.

use super::{names, refused, write};
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::sync::Barrier;
use strile::io::{FileSink, Sink};
use tempfile::tempdir;

#[test]
fn dead_temporaries_are_cleared_by_the_next_write() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.tif");
    for dead in
        ["x.tif.strile.tmp", "x.tif.aux.xml.strile.tmp", "x.tif.strile.0.spool", "x.tif.strile.1.spool"]
    {
        fs::write(folder.path().join(format!(".{dead}")), "of a killed process").unwrap();
    }
    // Not of this target.
    fs::write(folder.path().join(".y.tif.strile.tmp"), "another's").unwrap();
    let mut sink = Box::new(FileSink::create(&path, false).unwrap());
    assert_eq!(names(folder.path()), [".x.tif.strile.tmp", ".y.tif.strile.tmp"]);
    sink.append(b"new").unwrap();
    sink.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(names(folder.path()), [".y.tif.strile.tmp", "x.tif"]);
}

#[test]
fn the_temporary_of_a_live_writer_is_left() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.tif");
    let temporary = folder.path().join(".x.tif.strile.tmp");
    let held = OpenOptions::new().write(true).create_new(true).open(&temporary).unwrap();
    held.lock().unwrap();
    let (kind, message) = refused(&path, true);
    assert_eq!(kind, ErrorKind::ResourceBusy);
    assert!(message.starts_with("is being written by another writer, which holds `"), "{message}");
    assert_eq!(names(folder.path()), [".x.tif.strile.tmp"]);
    drop(held);
    write(&path, b"new");
    assert_eq!(names(folder.path()), ["x.tif"]);
}

#[cfg(unix)]
#[test]
fn something_else_under_the_temporary_s_name_is_not_touched() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.tif");
    fs::write(folder.path().join("precious"), "data").unwrap();
    std::os::unix::fs::symlink("precious", folder.path().join(".x.tif.strile.tmp")).unwrap();
    let (kind, message) = refused(&path, true);
    assert_eq!(kind, ErrorKind::AlreadyExists);
    assert!(message.contains("is in the way: it is not a file"), "{message}");
    assert_eq!(fs::read(folder.path().join("precious")).unwrap(), b"data");
}

#[test]
fn the_second_writer_of_a_target_is_refused_while_the_first_lives() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.tif");
    let mut first = Box::new(FileSink::create(&path, true).unwrap());
    assert_eq!(refused(&path, true).0, ErrorKind::ResourceBusy);
    first.append(b"first").unwrap();
    first.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"first");
    write(&path, b"second");
    assert_eq!(fs::read(&path).unwrap(), b"second");
}

#[test]
fn of_many_that_start_together_exactly_one_writes() {
    let folder = tempdir().unwrap();
    for round in 0..50 {
        let path = folder.path().join(format!("{round}.tif"));
        // Half of the rounds with a dead temporary that all of them want to clear.
        if round % 2 == 0 {
            fs::write(folder.path().join(format!(".{round}.tif.strile.tmp")), "dead").unwrap();
        }
        let (begin, end) = (Barrier::new(6), Barrier::new(6));
        let writers: Vec<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..6_u8)
                .map(|thread| {
                    let (begin, end, path) = (&begin, &end, &path);
                    scope.spawn(move || {
                        begin.wait();
                        let sink = FileSink::create(path, false);
                        end.wait();
                        sink.map_or(0, |mut sink| {
                            sink.append(&[thread; 100]).unwrap();
                            Box::new(sink).commit().unwrap();
                            1
                        })
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(writers.iter().sum::<usize>(), 1, "round {round}");
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes, [bytes[0]; 100]);
    }
    assert!(names(folder.path()).iter().all(|name| name.ends_with(".tif")));
}
