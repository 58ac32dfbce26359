//! The kubeconfig that `trellis up` writes and `trellis kubectl` reads.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use trellis_cluster::serve::Server;

/// The name of cluster, user and context.
const NAME: &str = "trellis";

/// Where the kubeconfig is unless someone says otherwise.
pub fn default_kubeconfig() -> Result<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::home_dir().map(|home| home.join(".local/state"));
    let folder =
        state.or_else(home).ok_or_else(|| anyhow!("no home directory\nhint: say where with `--kubeconfig`"))?;
    Ok(folder.join("trellis").join("kubeconfig"))
}

/// Writes the administrator's kubeconfig, readable by its owner alone.
pub fn write(path: &Path, server: &Server) -> Result<()> {
    let text = format!("{:#}\n", server.kubeconfig(NAME)?);
    let written = || -> std::io::Result<()> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)?;
        }
        // Written beside it and moved, so that nobody reads half a file or one that others may read.
        let fresh = path.with_extension("new");
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&fresh)?.write_all(text.as_bytes())?;
        fs::rename(fresh, path)
    };
    written().with_context(|| format!("cannot write {}", path.display()))
}

/// Takes it away again: it leads nowhere any more.
pub fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}
