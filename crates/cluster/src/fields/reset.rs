//! Which fields a write cannot change, whatever it says: for [`super::Writer::reset`].

/// Paths of field names.
pub type Paths = &'static [&'static [&'static str]];

/// For a write through this subresource (empty for the object itself). `custom`: the kind comes from a definition; `has_status`: it has a
/// status subresource.
pub fn fields(kind: &str, subresource: &str, custom: bool, has_status: bool) -> Paths {
    match subresource {
        "" | "finalize" if has_status => &[&["status"]],
        "status" if custom => &[&["metadata"], &["spec"]],
        "status" => match kind {
            "Pod" => &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]],
            "Deployment" => &[&["spec"], &["metadata", "labels"]],
            _ => &[&["spec"]],
        },
        _ => &[],
    }
}
