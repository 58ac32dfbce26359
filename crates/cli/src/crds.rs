//! `trellis crds`

use crate::args::{CrdsArgs, Others};
use crate::output;
use anyhow::{Context as _, Result};
use serde_json::Value;
use trellis_api::crd;

/// Prints the CustomResourceDefinitions, or writes one file for each.
pub fn run(args: &CrdsArgs) -> Result<bool> {
    let mut crds = crd::served();
    if args.with.contains(&Others::Kai) {
        crds.extend(crd::kai());
    }
    let values: Vec<Value> = crds.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
    let Some(directory) = &args.out else {
        output::yaml(&values)?;
        return Ok(true);
    };
    std::fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
    for (crd, value) in crds.iter().zip(&values) {
        let path = directory.join(format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural));
        std::fs::write(&path, output::to_yaml(value)?).with_context(|| format!("cannot write {}", path.display()))?;
        eprintln!("wrote {}", path.display());
    }
    Ok(true)
}
