//! The journal: every write as a line of JSON, on disk before it is acknowledged.
//!
//! A write is handed to the operating system in one piece before the store changes, so a killed process loses nothing that it
//! acknowledged; with `fsync` neither does a machine that loses power. A last line that is torn was never acknowledged and is cut off.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::store::{Index, Key, Object};

const FILE: &str = "journal.jsonl";
const LOCK: &str = "lock";

/// How often, and how far apart, a lock is tried.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// A file shorter than this is never written anew while it is in use.
const UNTIDY: u64 = 64 * 1024 * 1024;

/// How many lines may be stale before the journal is written anew when it is opened.
const STALE: usize = 1_000;

/// An open journal. Only one process can have it open.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    fsync: bool,
    /// The length of the file, and what it was when it held nothing stale.
    length: u64,
    tidy_length: u64,
    /// Held for as long as the journal is open.
    _lock: File,
}

/// One write, read back.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// The revision of the write.
    pub revision: u64,
    /// The shelf of the object.
    pub shelf: String,
    /// The name of the object.
    pub key: Key,
    /// The object; `None` if it was deleted. An entry without a name only moves the revision.
    pub object: Option<Object>,
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Line<'a> {
    revision: u64,
    shelf: &'a str,
    namespace: &'a str,
    name: &'a str,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    object: Option<Resting<'a>>,
}

#[derive(Serialize, Deserialize)]
struct Resting<'a> {
    revision: u64,
    version: Box<str>,
    schema: u64,
    uid: Box<str>,
    labels: Vec<(Box<str>, Box<str>)>,
    fields: Vec<(Box<str>, Box<str>)>,
    owners: Vec<Box<str>>,
    #[serde(borrow)]
    text: &'a RawValue,
}

impl Journal {
    /// Opens the journal in a folder, making both where they are missing, and reads what it holds.
    pub fn open(folder: &Path, fsync: bool) -> io::Result<(Self, Vec<Entry>)> {
        fs::create_dir_all(folder)?;
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(LOCK))?;
        take(&lock).map_err(|_| {
            let text = format!("`{}` is in use by another process", folder.display());
            io::Error::new(io::ErrorKind::WouldBlock, text)
        })?;
        let path = folder.join(FILE);
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(&path)?;
        let (entries, whole) = read(&mut file)?;
        if file.metadata()?.len() > whole {
            file.set_len(whole)?;
        }
        file.seek(SeekFrom::End(0))?;
        let mut journal = Self { path, file, fsync, length: whole, tidy_length: whole, _lock: lock };
        let entries = journal.drop_stale(entries)?;
        Ok((journal, entries))
    }

    /// Writes a change down. If that fails, nothing of it stays.
    pub fn append(&mut self, revision: u64, shelf: &str, key: &Key, object: Option<&Object>) -> io::Result<()> {
        let mut line = line(revision, shelf, key, object)?;
        line.push(b'\n');
        if let Err(error) = self.file.write_all(&line) {
            self.file.set_len(self.length)?;
            self.file.seek(SeekFrom::End(0))?;
            return Err(error);
        }
        self.length += line.len() as u64;
        if self.fsync { self.file.sync_data() } else { Ok(()) }
    }

    /// Puts a file with just these objects in the place of the journal.
    pub fn rewrite<'a>(
        &mut self,
        revision: u64,
        objects: impl Iterator<Item = (&'a str, &'a Key, &'a Object)>,
    ) -> io::Result<()> {
        let fresh = self.path.with_extension("new");
        let mut out = BufWriter::new(File::create(&fresh)?);
        for (shelf, key, object) in objects {
            out.write_all(&line(object.revision, shelf, key, Some(object))?)?;
            out.write_all(b"\n")?;
        }
        // Revisions never fall back to what they were before the last deletion.
        let nobody = Key { namespace: String::new(), name: String::new() };
        out.write_all(&line(revision, "", &nobody, None)?)?;
        out.write_all(b"\n")?;
        out.into_inner()?.sync_all()?;
        fs::rename(&fresh, &self.path)?;
        self.file = OpenOptions::new().append(true).open(&self.path)?;
        self.length = self.file.seek(SeekFrom::End(0))?;
        self.tidy_length = self.length;
        Ok(())
    }

    /// Whether so much of the file is stale that it should be written anew.
    pub fn is_untidy(&self) -> bool {
        self.length > UNTIDY.max(4 * self.tidy_length)
    }

    fn drop_stale(&mut self, entries: Vec<Entry>) -> io::Result<Vec<Entry>> {
        let revision = entries.iter().map(|entry| entry.revision).max().unwrap_or(0);
        let lines = entries.len();
        let mut living = std::collections::BTreeMap::new();
        for entry in entries {
            match entry.object {
                Some(object) => drop(living.insert((entry.shelf, entry.key), object)),
                None => drop(living.remove(&(entry.shelf, entry.key))),
            }
        }
        if lines > living.len() + STALE {
            self.rewrite(revision, living.iter().map(|((shelf, key), object)| (shelf.as_str(), key, object)))?;
        }
        let objects = living.into_iter().map(|((shelf, key), object)| Entry {
            revision: object.revision,
            shelf,
            key,
            object: Some(object),
        });
        let mark = Entry {
            revision,
            shelf: String::new(),
            key: Key { namespace: String::new(), name: String::new() },
            object: None,
        };
        Ok(objects.chain([mark]).collect())
    }
}

/// Takes the lock. A process that was killed a moment ago may not be gone altogether, so this tries for a while.
fn take(lock: &File) -> Result<(), TryLockError> {
    for _ in 0..LOCK_TRIES {
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            other => return other,
        }
    }
    lock.try_lock()
}

fn line(revision: u64, shelf: &str, key: &Key, object: Option<&Object>) -> io::Result<Vec<u8>> {
    let object = object.map(resting).transpose()?;
    let line = Line { revision, shelf, namespace: &key.namespace, name: &key.name, object };
    serde_json::to_vec(&line).map_err(io::Error::other)
}

fn resting(object: &Object) -> io::Result<Resting<'_>> {
    let index = object.index.clone();
    let text: &RawValue = serde_json::from_slice(&object.text).map_err(io::Error::other)?;
    Ok(Resting {
        revision: object.revision,
        version: index.version,
        schema: index.schema,
        uid: index.uid,
        labels: index.labels,
        fields: index.fields,
        owners: index.owners,
        text,
    })
}

/// The entries of the file, and how many bytes of it are whole lines.
fn read(file: &mut File) -> io::Result<(Vec<Entry>, u64)> {
    file.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let (mut entries, mut whole, mut buffer) = (Vec::new(), 0, Vec::new());
    loop {
        buffer.clear();
        let length = reader.read_until(b'\n', &mut buffer)?;
        if length == 0 {
            return Ok((entries, whole));
        }
        match serde_json::from_slice::<Line<'_>>(&buffer) {
            Ok(line) if buffer.ends_with(b"\n") => entries.push(entry(line)),
            // Only the last line can be torn; damage before it is not ours to guess about.
            _ if reader.fill_buf()?.is_empty() => return Ok((entries, whole)),
            _ => {
                let text = format!("line {} of the journal is damaged", entries.len() + 1);
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
        }
        whole += length as u64;
    }
}

fn entry(line: Line<'_>) -> Entry {
    let object = line.object.map(|resting| Object {
        text: Bytes::copy_from_slice(resting.text.get().as_bytes()),
        revision: resting.revision,
        index: Index {
            version: resting.version,
            schema: resting.schema,
            uid: resting.uid,
            labels: resting.labels,
            fields: resting.fields,
            owners: resting.owners,
        },
    });
    let key = Key { namespace: line.namespace.to_owned(), name: line.name.to_owned() };
    Entry { revision: line.revision, shelf: line.shelf.to_owned(), key, object }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(revision: u64) -> Object {
        let index = Index { uid: format!("u{revision}").into(), ..Index::default() };
        Object::seal(&mut json!({"metadata": {"name": "a"}, "data": {"line": "one\ntwo"}}), revision, index)
    }

    fn key(name: &str) -> Key {
        Key { namespace: "n".to_owned(), name: name.to_owned() }
    }

    /// Names and revisions of what is found when the journal is opened.
    fn found(folder: &Path) -> Vec<(String, u64)> {
        let (_journal, entries) = Journal::open(folder, false).unwrap();
        entries.into_iter().map(|entry| (entry.key.name, entry.revision)).collect()
    }

    #[test]
    fn what_was_written_is_read_back_and_a_torn_line_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, entries) = Journal::open(folder.path(), true).unwrap();
        assert_eq!(entries.len(), 1, "the mark of revision 0 alone");
        journal.append(1, "things", &key("a"), Some(&object(1))).unwrap();
        journal.append(2, "things", &key("b"), Some(&object(2))).unwrap();
        journal.append(3, "things", &key("a"), None).unwrap();
        assert!(Journal::open(folder.path(), false).is_err(), "the folder is in use");
        drop(journal);
        let expected = vec![("b".to_owned(), 2), (String::new(), 3)];
        assert_eq!(found(folder.path()), expected);
        let mut file = OpenOptions::new().append(true).open(folder.path().join(FILE)).unwrap();
        file.write_all(b"{\"revision\":4,\"shelf\":\"thi").unwrap();
        assert_eq!(found(folder.path()), expected);
        let (mut journal, _) = Journal::open(folder.path(), false).unwrap();
        journal.append(4, "things", &key("c"), Some(&object(4))).unwrap();
        journal.rewrite(9, [("things", &key("c"), &object(4))].into_iter()).unwrap();
        journal.append(10, "things", &key("d"), Some(&object(10))).unwrap();
        drop(journal);
        assert_eq!(found(folder.path()), [("c".to_owned(), 4), ("d".to_owned(), 10), (String::new(), 10)]);
    }

    #[test]
    fn damage_in_the_middle_is_not_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), "{broken\n{}\n").unwrap();
        let error = Journal::open(folder.path(), false).unwrap_err();
        assert_eq!(error.to_string(), "line 1 of the journal is damaged");
    }
}
