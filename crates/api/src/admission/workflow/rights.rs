//! What a task may have of its host: what its platform allows. A task without a platform has nobody to allow it anything.

use crate::field::{FieldError, Path};
use crate::kinds::osmo::{Platform, Pool, ResourceSpec, Task};

/// What a task wants of its host and nobody allows it.
pub fn missing(path: &Path, task: &Task, asked: Option<&ResourceSpec>, pool: &Pool) -> Vec<FieldError> {
    let name = pool.spec.platform_of(asked);
    let platform = pool.spec.platforms.get(name);
    let mut errors = Vec::new();
    for (field, wants, right, allowed) in [
        ("privileged", task.privileged, "privileged_allowed", platform.and_then(|it| it.privileged_allowed)),
        ("hostNetwork", task.host_network, "host_network_allowed", platform.and_then(|it| it.host_network_allowed)),
    ] {
        if wants && allowed != Some(true) {
            let message = match platform {
                Some(_) => format!("platform {name:?} does not allow it"),
                None => format!("{}, and only a platform can allow it (`{right}: true`)", lack(name, pool)),
            };
            errors.push(FieldError::forbidden(&path.child(field), message));
        }
    }
    for (i, mount) in task.volume_mounts.iter().enumerate() {
        let from = mount.split_once(':').map_or(mount.as_str(), |(from, _)| from);
        let message = match platform {
            Some(platform) if platform.allowed_mounts.iter().any(|allowed| allowed == from) => continue,
            Some(platform) => format!("platform {name:?} does not allow {from:?}; it allows {}", folders(platform)),
            None => {
                format!("{}, and only a platform can allow it (`allowed_mounts: [{from:?}]`)", lack(name, pool))
            }
        };
        errors.push(FieldError::forbidden(&path.child("volumeMounts").index(i), message));
    }
    errors
}

fn folders(platform: &Platform) -> String {
    match platform.allowed_mounts.as_slice() {
        [] => "none".to_owned(),
        allowed => allowed.join(", "),
    }
}

/// Why there is no platform.
fn lack(platform: &str, pool: &Pool) -> String {
    let name = pool.metadata.name.as_deref().unwrap_or_default();
    match (pool.spec.platforms.is_empty(), platform) {
        (true, _) => format!("pool {name:?} has no platforms"),
        (false, "") => "the task has no platform".to_owned(),
        (false, platform) => format!("pool {name:?} has no platform {platform:?}"),
    }
}
