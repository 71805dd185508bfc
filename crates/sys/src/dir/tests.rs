//! Directories that other users prepare, rename and replace.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, chown, symlink};

use super::*;

/// Removed with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("xway-dir-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn dir(&self) -> Dir {
        Dir::open(&self.0, Ancestors::Protected).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn errno<T: std::fmt::Debug>(result: Result<T>) -> i32 {
    result.unwrap_err().errno
}

#[test]
fn files_are_created_once_and_replaced_by_rename() {
    let scratch = Scratch::new("files");
    let dir = scratch.dir();
    dir.create_file("part", 0o600).unwrap().write_all(b"new").unwrap();
    assert_eq!(errno(dir.create_file("part", 0o600)), libc::EEXIST);
    fs::write(scratch.join("report"), "old").unwrap();
    dir.rename("part", "report").unwrap();
    let mut text = String::new();
    dir.open_file("report", Access::Read).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), dir.names().unwrap()), ("new", vec!["report".into()]));
    dir.remove_file("report").unwrap();
    dir.create_dir("inner", 0o700).unwrap();
    dir.remove_dir("inner").unwrap();
    assert!(dir.names().unwrap().is_empty());
}

#[test]
fn planted_links_are_never_followed() {
    let scratch = Scratch::new("links");
    let dir = scratch.dir();
    fs::write(scratch.join("victim"), "kept").unwrap();
    fs::create_dir(scratch.join("place")).unwrap();
    symlink("victim", scratch.join("link")).unwrap();
    symlink("place", scratch.join("linked")).unwrap();
    assert_eq!(errno(dir.create_file("link", 0o600)), libc::EEXIST);
    assert_eq!(errno(dir.open_file("link", Access::ReadWrite)), libc::ELOOP);
    assert_eq!(errno(dir.open_or_create_file("link", 0o600)), libc::ELOOP);
    assert_eq!(errno(dir.open_dir("linked")), libc::ENOTDIR);
    assert_eq!(errno(dir.create_dir("linked", 0o700)), libc::EEXIST);
    assert_eq!(fs::read_to_string(scratch.join("victim")).unwrap(), "kept");
}

#[test]
fn only_single_names_and_regular_files_are_opened() {
    let scratch = Scratch::new("names");
    let dir = scratch.dir();
    for name in ["", ".", "..", "a/b", "/etc", "a/"] {
        assert_eq!(errno(dir.open_or_create_file(name, 0o600)), libc::EINVAL, "{name}");
    }
    rustix::fs::mknodat(&dir.fd, "pipe", rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
    assert_eq!(errno(dir.open_file("pipe", Access::Read)), libc::EINVAL);
}

#[test]
fn a_directory_stays_the_same_when_its_path_is_replaced() {
    let scratch = Scratch::new("swap");
    fs::create_dir(scratch.join("a")).unwrap();
    let dir = Dir::open(&scratch.join("a"), Ancestors::Any).unwrap();
    fs::rename(scratch.join("a"), scratch.join("b")).unwrap();
    fs::create_dir(scratch.join("a")).unwrap();
    dir.create_file("file", 0o600).unwrap();
    assert!(scratch.join("b/file").exists() && !scratch.join("a/file").exists());
}

#[test]
fn missing_directories_are_created_and_named() {
    let scratch = Scratch::new("create");
    let path = scratch.join("x/y");
    let (dir, created) = Dir::open_or_create(&path, Ancestors::Protected, 0o700).unwrap();
    assert_eq!(dir.path(), path);
    let paths: Vec<_> = created.iter().map(Dir::path).collect();
    assert_eq!(paths, [scratch.join("x"), path.clone()]);
    assert_eq!(dir.metadata().unwrap().mode() & 0o777, 0o700);
    let (_, created) = Dir::open_or_create(&path, Ancestors::Protected, 0o700).unwrap();
    assert!(created.is_empty());
    assert_eq!(errno(Dir::open(&scratch.join("none"), Ancestors::Any)), libc::ENOENT);
}

#[test]
fn a_directory_that_several_create_is_opened_by_all() {
    let scratch = Scratch::new("several");
    for round in 0..50 {
        let path = scratch.join(&round.to_string());
        let barrier = std::sync::Barrier::new(4);
        let open = || {
            barrier.wait();
            Dir::open_or_create(&path, Ancestors::Protected, 0o700).unwrap().1.len()
        };
        let created: usize = std::thread::scope(|scope| {
            let all: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
            all.into_iter().map(|one| one.join().unwrap()).sum()
        });
        assert_eq!(created, 1);
    }
}

#[test]
fn a_new_directory_may_already_have_entries_of_another_process() {
    let scratch = Scratch::new("entries");
    for round in 0..500 {
        let barrier = std::sync::Barrier::new(4);
        let open = |own: u32| {
            let path = scratch.join(&format!("{round}/{own}"));
            barrier.wait();
            Dir::open_or_create(&path, Ancestors::Protected, 0o700).unwrap().1.len()
        };
        let created: usize = std::thread::scope(|scope| {
            let all: Vec<_> = (0..4)
                .map(|own| {
                    let open = &open;
                    scope.spawn(move || open(own))
                })
                .collect();
            all.into_iter().map(|one| one.join().unwrap()).sum()
        });
        assert_eq!(created, 5);
    }
}

#[test]
fn links_are_followed_where_only_the_caller_can_change_them() {
    let scratch = Scratch::new("follow");
    fs::create_dir(scratch.join("real")).unwrap();
    symlink("real", scratch.join("relative")).unwrap();
    symlink(scratch.join("relative"), scratch.join("absolute")).unwrap();
    symlink("loop", scratch.join("loop")).unwrap();
    let dir = Dir::open(&scratch.join("absolute/../relative"), Ancestors::Protected).unwrap();
    assert_eq!(dir.path().file_name(), Some(OsStr::new("real")));
    assert_eq!(errno(Dir::open(&scratch.join("loop"), Ancestors::Any)), libc::ELOOP);
}

#[test]
fn directories_that_others_can_change_are_refused_or_lose_their_links() {
    let scratch = Scratch::new("exposed");
    let shared = scratch.join("shared");
    fs::create_dir_all(shared.join("inner")).unwrap();
    symlink("inner", shared.join("link")).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(errno(Dir::open(&shared.join("inner"), Ancestors::Protected)), libc::EPERM);
    Dir::open(&shared.join("inner"), Ancestors::Any).unwrap();
    assert_eq!(errno(Dir::open(&shared.join("link"), Ancestors::Any)), libc::ELOOP);
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    Dir::open(&shared.join("link"), Ancestors::Protected).unwrap();
}

#[test]
fn directories_and_links_of_other_users_are_not_trusted() {
    if effective_user() != 0 {
        eprintln!("skipped: only root can give a file to another user");
        return;
    }
    let scratch = Scratch::new("foreign");
    let theirs = scratch.join("theirs");
    fs::create_dir(&theirs).unwrap();
    chown(&theirs, Some(65534), Some(65534)).unwrap();
    let error = Dir::open(&theirs, Ancestors::Protected).unwrap_err();
    assert!(error.to_string().contains("belongs to user 65534"), "{error}");
    Dir::open(&theirs, Ancestors::Any).unwrap();
    symlink("theirs", scratch.join("link")).unwrap();
    std::os::unix::fs::lchown(scratch.join("link"), Some(65534), Some(65534)).unwrap();
    assert_eq!(errno(Dir::open(&scratch.join("link"), Ancestors::Any)), libc::ELOOP);
}
