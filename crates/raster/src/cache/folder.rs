//! Encoded blocks of remote files in a folder, for later processes, bounded in bytes.
//!
//! Each block is a separate file: its kind, a digest, its bytes. It is written under another name first, so that it is
//! always complete. Its name is a hash of the block's object, version and place, with a salt that never leaves the
//! folder: names reveal nothing of URLs and credentials. Files that cannot be read back as written are removed; files
//! with other names are left alone.

use ring::digest::{Context as Digest, SHA256};
use ring::rand::{SecureRandom as _, SystemRandom};
use std::collections::{HashMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use strile_engine::memory::try_zeroed;

const MAGIC: &[u8; 8] = b"strile1\n";
const DIGEST: usize = 32;
const HEAD: usize = MAGIC.len() + DIGEST;
const SUFFIX: &str = ".strile";
const SALT: &str = "salt.strile";
/// Maximum number of files that are listed.
const MOST_FILES: usize = 1 << 20;
/// A file under a temporary name that is older than this was left by a killed process.
const ABANDONED: Duration = Duration::from_secs(3600);
/// A block that takes more than this fraction of the limit is not kept.
const MOST_OF_LIMIT: u64 = 16;
/// Number of new blocks after which the folder is listed again: other processes may use it, too.
const LOOK_AGAIN: usize = 1024;

/// Key of the blocks of one state of an object in the folder.
pub(crate) type Named = [u8; 16];

/// A folder of blocks.
pub(crate) struct Folder {
    path: PathBuf,
    salt: [u8; 32],
    limit: u64,
    files: Mutex<Files>,
}

/// Blocks in the folder, as far as this process knows.
#[derive(Default)]
struct Files {
    sizes: HashMap<Named, u64>,
    /// Oldest first.
    order: VecDeque<Named>,
    bytes: u64,
    written: usize,
}

impl Folder {
    /// Uses a folder, and creates it if it does not exist. Only the user may have access to it.
    pub(crate) fn open(path: &Path, limit: u64) -> io::Result<Self> {
        make(path)?;
        let probe = path.join(temporary()?);
        let made = create(&probe).and_then(|file| file.metadata());
        let removed = fs::remove_file(&probe);
        check_owner(path, &made?)?;
        removed?;
        let salt = salt_of(path)?;
        let folder = Self { path: path.to_owned(), salt, limit, files: Mutex::default() };
        folder.look(&mut folder.lock())?;
        Ok(folder)
    }

    fn lock(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    /// Returns the key of a state of an object in this folder.
    pub(crate) fn named(&self, state: &str) -> Named {
        self.hash(&[b"state", state.as_bytes()])
    }

    fn block(&self, state: Named, offset: u64, len: u64) -> Named {
        self.hash(&[b"block", &state, &offset.to_le_bytes(), &len.to_le_bytes()])
    }

    fn hash(&self, parts: &[&[u8]]) -> Named {
        let mut digest = Digest::new(&SHA256);
        digest.update(&self.salt);
        parts.iter().for_each(|part| digest.update(part));
        let mut named = Named::default();
        named.iter_mut().zip(digest.finish().as_ref()).for_each(|(to, from)| *to = *from);
        named
    }

    /// Returns the digest of a file. It includes the name, so that a file cannot replace another.
    fn digest(&self, name: &Named, bytes: &[u8]) -> [u8; DIGEST] {
        let mut digest = Digest::new(&SHA256);
        [self.salt.as_slice(), name, bytes].iter().for_each(|part| digest.update(part));
        let mut found = [0; DIGEST];
        found.iter_mut().zip(digest.finish().as_ref()).for_each(|(to, from)| *to = *from);
        found
    }

    fn path_of(&self, name: &Named) -> PathBuf {
        let hex: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
        self.path.join(format!("{hex}{SUFFIX}"))
    }

    /// Returns the bytes of a block; `None` if it is missing or not as written.
    pub(crate) fn find(&self, state: Named, offset: u64, len: u64) -> Option<Vec<u8>> {
        let name = self.block(state, offset, len);
        let path = self.path_of(&name);
        let Ok(mut file) = open(&path) else {
            // Another process may have removed it.
            self.lock().take(&name);
            return None;
        };
        let expected = (HEAD as u64).checked_add(len)?;
        let is_whole = file.metadata().is_ok_and(|found| found.is_file() && found.len() == expected);
        let read = || -> Option<Vec<u8>> {
            let mut head = [0; HEAD];
            file.read_exact(&mut head).ok()?;
            let mut bytes = try_zeroed(usize::try_from(len).ok()?, "a block of the cache").ok()?;
            file.read_exact(&mut bytes).ok()?;
            let (magic, digest) = head.split_at_checked(MAGIC.len())?;
            (magic == MAGIC && digest == self.digest(&name, &bytes)).then_some(bytes)
        };
        let found = is_whole.then(read).flatten();
        if found.is_none() {
            self.forget(&name);
        }
        found
    }

    /// Keeps a block. A failed write is ignored: the next read fetches the block again.
    pub(crate) fn keep(&self, state: Named, offset: u64, bytes: &[u8]) {
        let name = self.block(state, offset, bytes.len() as u64);
        let size = (HEAD + bytes.len()) as u64;
        if size > self.limit / MOST_OF_LIMIT || self.lock().sizes.contains_key(&name) {
            return;
        }
        if self.write(&name, bytes).is_err() {
            return;
        }
        let mut files = self.lock();
        files.add(name, size);
        files.written += 1;
        if files.written.is_multiple_of(LOOK_AGAIN) {
            let _what_is_known_stays = self.look(&mut files);
        }
        let gone = files.over(self.limit);
        drop(files);
        self.remove(&gone);
    }

    fn write(&self, name: &Named, bytes: &[u8]) -> io::Result<()> {
        let before = self.path.join(temporary()?);
        let written = create(&before).and_then(|mut file| {
            file.write_all(MAGIC)?;
            file.write_all(&self.digest(name, bytes))?;
            file.write_all(bytes)
        });
        let named = written.and_then(|()| fs::rename(&before, self.path_of(name)));
        if named.is_err() {
            let _nothing_else_to_do = fs::remove_file(&before);
        }
        named
    }

    fn forget(&self, name: &Named) {
        self.lock().take(name);
        let _others_may_have = fs::remove_file(self.path_of(name));
    }

    fn remove(&self, names: &[Named]) {
        for name in names {
            let _others_may_have = fs::remove_file(self.path_of(name));
        }
    }

    /// Lists the folder, and removes files beyond the limit and abandoned files.
    fn look(&self, files: &mut Files) -> io::Result<()> {
        let mut found: Vec<(SystemTime, Named, u64)> = Vec::new();
        let now = SystemTime::now();
        for entry in fs::read_dir(&self.path)?.take(MOST_FILES) {
            let entry = entry?;
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            // Metadata of the entry itself: links are not followed.
            let Ok(about) = entry.metadata() else { continue };
            if !about.is_file() {
                continue;
            }
            let changed = about.modified().unwrap_or(now);
            if let Some(named) = parsed(&name) {
                found.push((changed, named, about.len()));
            } else if is_temporary(&name) && now.duration_since(changed).is_ok_and(|age| age > ABANDONED) {
                let _others_may_have = fs::remove_file(entry.path());
            }
        }
        found.sort_unstable();
        *files = Files { written: files.written, ..Files::default() };
        found.into_iter().for_each(|(_, name, size)| files.add(name, size));
        let gone = files.over(self.limit);
        self.remove(&gone);
        Ok(())
    }
}

impl Files {
    fn add(&mut self, name: Named, size: u64) {
        if self.sizes.insert(name, size).is_none() {
            self.order.push_back(name);
            self.bytes = self.bytes.saturating_add(size);
        }
    }

    fn take(&mut self, name: &Named) {
        if let Some(size) = self.sizes.remove(name) {
            self.bytes = self.bytes.saturating_sub(size);
        }
    }

    /// Removes and returns the oldest blocks beyond the limit.
    fn over(&mut self, limit: u64) -> Vec<Named> {
        let mut gone = Vec::new();
        while self.bytes > limit {
            let Some(name) = self.order.pop_front() else { break };
            if self.sizes.contains_key(&name) {
                self.take(&name);
                gone.push(name);
            }
        }
        gone
    }
}

/// Returns a new name for an incomplete file.
fn temporary() -> io::Result<String> {
    let mut random = [0; 8];
    SystemRandom::new()
        .fill(&mut random)
        .map_err(|_| io::Error::other("the system gives no random numbers"))?;
    Ok(format!("new-{:016x}{SUFFIX}", u64::from_le_bytes(random)))
}

fn is_temporary(name: &str) -> bool {
    name.strip_prefix("new-").and_then(|rest| rest.strip_suffix(SUFFIX)).is_some_and(|hex| hex.len() == 16)
}

/// Parses the name of a block.
fn parsed(name: &str) -> Option<Named> {
    let hex = name.strip_suffix(SUFFIX).filter(|hex| hex.len() == 32 && hex.is_ascii())?;
    let mut named = Named::default();
    for (byte, at) in named.iter_mut().zip((0..32).step_by(2)) {
        let digits = hex.get(at..at + 2)?;
        *byte = u8::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
    }
    Some(named)
}

/// Returns the salt of a folder, and creates it if there is none.
fn salt_of(path: &Path) -> io::Result<[u8; 32]> {
    let place = path.join(SALT);
    for _ in 0..2 {
        let mut bytes = Vec::new();
        match open(&place).and_then(|file| file.take(33).read_to_end(&mut bytes)) {
            Ok(_) => match <[u8; 32]>::try_from(bytes) {
                Ok(salt) => return Ok(salt),
                // Blocks named with it are no longer found, and are removed when there is no room.
                Err(_) => fs::remove_file(&place)?,
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let mut salt = [0; 32];
        let none = |_| io::Error::other("the system gives no random numbers");
        SystemRandom::new().fill(&mut salt).map_err(none)?;
        let before = path.join(temporary()?);
        let written = create(&before).and_then(|mut file| file.write_all(&salt));
        // If another process has created one meanwhile, that one is used.
        let linked = written.and_then(|()| fs::hard_link(&before, &place));
        let _nothing_else_to_do = fs::remove_file(&before);
        match linked {
            Ok(()) => return Ok(salt),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, format!("`{SALT}` in it cannot be used: remove it")))
}

#[cfg(unix)]
fn make(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "expected a folder, not a file or a link"));
    }
    match found.permissions().mode() & 0o077 {
        0 => Ok(()),
        _ => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "others have access to the folder; take it from them (`chmod 700`) or name another one",
        )),
    }
}

#[cfg(not(unix))]
fn make(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

#[cfg(unix)]
fn check_owner(path: &Path, made: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    match fs::symlink_metadata(path)?.uid() == made.uid() {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::PermissionDenied, "the folder is another user's")),
    }
}

#[cfg(not(unix))]
fn check_owner(_path: &Path, _made: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// Creates a file for the user alone.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Opens a regular file. Returns an error for anything else, such as a pipe, instead of waiting.
fn open(path: &Path) -> io::Result<File> {
    match fs::symlink_metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &Path) -> Vec<String> {
        let found =
            fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut found: Vec<String> = found.collect();
        found.sort();
        found
    }

    #[test]
    fn blocks_come_back_in_another_process_and_tell_nothing_by_their_names() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("blocks");
        let folder = Folder::open(&path, 1 << 20).unwrap();
        let state = folder.named("https://host/a.tif?sig=secret 10 \"e\"");
        folder.keep(state, 4, b"block");
        assert_eq!(folder.find(state, 4, 5).unwrap(), b"block");
        assert!(folder.find(state, 5, 5).is_none() && folder.find(state, 4, 4).is_none());
        let later = Folder::open(&path, 1 << 20).unwrap();
        assert_eq!(
            later.find(later.named("https://host/a.tif?sig=secret 10 \"e\""), 4, 5).unwrap(),
            b"block"
        );
        assert!(later.find(later.named("another"), 4, 5).is_none());
        let found = names(&path);
        assert!(found.len() == 2 && found.iter().all(|name| name.ends_with(SUFFIX)), "{found:?}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&path), 0o700);
            assert!(found.iter().all(|name| mode(&path.join(name)) == 0o600));
        }
        // Another folder has another salt.
        let other = Folder::open(&place.path().join("other"), 1 << 20).unwrap();
        assert_ne!(other.named("x"), folder.named("x"));
    }

    #[test]
    fn damaged_files_are_removed_and_foreign_ones_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("blocks");
        let folder = Folder::open(&path, 1 << 20).unwrap();
        let state = folder.named("state");
        fs::write(path.join("notes.txt"), "mine").unwrap();
        fs::create_dir(path.join(format!("{}{SUFFIX}", "0".repeat(32)))).unwrap();
        for damage in 0..4 {
            folder.keep(state, damage, &[7; 100]);
            let file = folder.path_of(&folder.block(state, damage, 100));
            let mut bytes = fs::read(&file).unwrap();
            match damage {
                0 => bytes[0] ^= 1,
                1 => bytes[HEAD + 50] ^= 1,
                2 => bytes.truncate(60),
                _ => bytes.push(0),
            }
            fs::write(&file, bytes).unwrap();
            assert!(folder.find(state, damage, 100).is_none() && !file.exists(), "{damage}");
            // It can be kept again.
            folder.keep(state, damage, &[7; 100]);
            assert_eq!(folder.find(state, damage, 100).unwrap(), [7; 100]);
        }
        // One block copied over another.
        let (one, two) = (folder.block(state, 0, 100), folder.block(state, 1, 100));
        fs::copy(folder.path_of(&one), folder.path_of(&two)).unwrap();
        assert!(folder.find(state, 1, 100).is_none());
        let again = Folder::open(&path, 1 << 20).unwrap();
        assert_eq!(again.find(state, 0, 100).unwrap(), [7; 100]);
        assert_eq!(fs::read(path.join("notes.txt")).unwrap(), b"mine");
        fs::write(path.join(SALT), "short").unwrap();
        let salted = Folder::open(&path, 1 << 20).unwrap();
        assert_ne!(salted.named("state"), state);
    }

    #[test]
    fn the_oldest_go_when_there_is_no_room() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("blocks");
        let limit = 100 * 1000;
        let folder = Folder::open(&path, limit).unwrap();
        let state = folder.named("state");
        for offset in 0..300 {
            folder.keep(state, offset, &[1; 1000]);
            assert!(folder.bytes() <= limit);
        }
        assert!(folder.find(state, 0, 1000).is_none() && folder.find(state, 299, 1000).is_some());
        let on_disk =
            || -> u64 { names(&path).iter().map(|name| fs::metadata(path.join(name)).unwrap().len()).sum() };
        assert!(on_disk() <= limit + 32, "{}", on_disk());
        folder.keep(state, 1000, &[1; 50_000]);
        assert!(folder.find(state, 1000, 50_000).is_none(), "too large a part of the folder");
        let smaller = Folder::open(&path, 10_000).unwrap();
        assert!(smaller.bytes() <= 10_000 && on_disk() <= 10_032);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_see_and_a_link_are_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("open");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let told = |path: &Path| Folder::open(path, 1 << 20).err().unwrap().to_string();
        assert!(told(&path).contains("chmod 700"));
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(told(&link).contains("not a file or a link"));
        fs::write(place.path().join("file"), "").unwrap();
        assert!(told(&place.path().join("file")).contains("expected a folder"));
    }
}
