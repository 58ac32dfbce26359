//! `trellis submit`

use crate::args::{RenderOutput, SubmitArgs};
use crate::objects::{Object, Role};
use crate::plan::nodes_of;
use crate::{osmo, output, render, validate, world};
use anyhow::{Result, bail};
use trellis_api::admission::object::Kind;
use trellis_api::settings::Settings;
use trellis_lower::osmo::never_fits;

/// Judges workflows and says what would be submitted; returns whether all were admitted.
pub fn run(args: &SubmitArgs) -> Result<bool> {
    if !args.dry_run {
        bail!("workflows cannot be submitted to a cluster yet\nhint: --dry-run shows what would be submitted");
    }
    let objects = validate::read_objects(&args.files, &args.osmo.reading())?;
    let settings = Settings::default();
    let view = world::view(&objects.iter().collect::<Vec<_>>(), &settings);
    let is_ours = |object: &&Object| matches!(object.role, Role::Judged(Kind::Pool | Kind::Workflow) | Role::Unknown);
    let mut fit = true;
    for object in objects.iter().filter(is_ours) {
        fit = render::tell(object, &validate::judge(object, None, &view, &settings)?) && fit;
    }
    if !fit {
        return Ok(false);
    }
    let workflows = osmo::workflows(&objects, &view.pools);
    if workflows.is_empty() {
        bail!("no workflow in the input\nhint: a file with `workflow:` at the start of a line, or a Workflow object");
    }
    let nodes = nodes_of(&objects);
    let mut submitted = Vec::new();
    for (object, workflow, pool) in workflows {
        for (group, why) in never_fits(&workflow, pool, &nodes.cluster()) {
            eprintln!("warning: {}: group {group:?} can never be placed on these nodes: {why}", object.title());
        }
        submitted.push(serde_json::to_value(workflow)?);
    }
    match args.output {
        RenderOutput::Json => {
            output::json(&serde_json::json!({"apiVersion": "v1", "kind": "List", "items": submitted}))?;
        }
        RenderOutput::Yaml => output::yaml(&submitted)?,
    }
    Ok(true)
}
