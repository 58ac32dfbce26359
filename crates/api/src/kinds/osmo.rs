//! OSMO's pools and workflows as kinds of ours. Fields keep the spelling of OSMO's files, so that what stands there can be
//! moved into `spec` as it is; [`crate::osmo`] reads the files themselves.

mod pool;
mod workflow;
mod workflow_status;

pub use pool::{
    Backend, GpuShare, Platform, Pool, PoolLevel, PoolResources, PoolSpec, PoolStatus, SchedulerSettings, TopologyKey,
};
pub use workflow::{
    Input, Priority, RequirementType, ResourceSpec, Task, TaskFile, TaskGroup, Timeouts, TopologyRequirement, Workflow,
    WorkflowSpec,
};
pub use workflow_status::{GroupStatus, State, TaskStatus, WorkflowStatus};

use schemars::{Schema, SchemaGenerator, json_schema};

/// A value of any form.
fn anything(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-preserve-unknown-fields": true})
}

/// An object of any form.
fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// A list of values of any form.
fn any_list(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": true}})
}

/// Values of any form by name.
fn any_values(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "additionalProperties": {"x-kubernetes-preserve-unknown-fields": true}})
}

/// A number or text.
fn number_or_text(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-int-or-string": true})
}
