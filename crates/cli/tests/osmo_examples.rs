//! The workflows of `examples/osmo` are admitted, rendered, and placed on the cluster beside them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn trellis(command: &str, files: &[&Path]) -> Output {
    let mut run = Command::new(env!("CARGO_BIN_EXE_trellis"));
    run.arg(command).arg("-f").args(files).output().expect("the binary runs")
}

#[track_caller]
fn check(output: &Output, file: &Path) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{}: {stderr}", file.display());
}

#[test]
fn examples_are_admitted_rendered_and_placed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/osmo");
    let cluster = folder.join("cluster.yaml");
    let entries = std::fs::read_dir(&folder).expect("examples").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = entries.filter(|path| *path != cluster).collect();
    files.sort();
    assert!(files.len() >= 6, "six examples at least, and there are {}", files.len());
    for file in &files {
        let validated = trellis("validate", &[file]);
        check(&validated, file);
        let said = String::from_utf8_lossy(&validated.stdout);
        assert!(!said.contains("warning:"), "{}: {said}", file.display());
        check(&trellis("render", &[file]), file);
        check(&trellis("plan", &[&cluster, file]), file);
    }
}
