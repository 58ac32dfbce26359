//! The parameters of a request.

use crate::status::Status;

/// The parameters of a request, as far as they are understood.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// `watch`
    pub watch: bool,
    /// `limit`
    pub limit: Option<usize>,
    /// `continue`
    pub continue_token: Option<String>,
    /// `resourceVersion`
    pub resource_version: Option<String>,
    /// `resourceVersionMatch`
    pub resource_version_match: Option<String>,
    /// `labelSelector`
    pub label_selector: Option<String>,
    /// `fieldSelector`
    pub field_selector: Option<String>,
    /// `timeoutSeconds`
    pub timeout_seconds: Option<u64>,
    /// `allowWatchBookmarks`
    pub bookmarks: bool,
    /// `sendInitialEvents`
    pub initial_events: Option<bool>,
    /// `dryRun`
    pub dry_run: Vec<String>,
    /// `fieldManager`
    pub field_manager: Option<String>,
    /// `fieldValidation`
    pub field_validation: Option<String>,
    /// `force`
    pub force: Option<bool>,
    /// `gracePeriodSeconds`
    pub grace_seconds: Option<i64>,
    /// `propagationPolicy`
    pub propagation: Option<String>,
    /// `orphanDependents`
    pub orphan_dependents: Option<bool>,
    /// `includeObject`
    pub include_object: Option<String>,
}

impl Query {
    /// Reads the part of an address behind the question mark.
    pub fn of(text: &str) -> Result<Self, Status> {
        let mut query = Self::default();
        for (key, value) in form_urlencoded::parse(text.as_bytes()) {
            let text = || (!value.is_empty()).then(|| value.to_string());
            match key.as_ref() {
                "watch" => query.watch = truth(&value),
                "limit" => {
                    query.limit =
                        number(&value)?.and_then(|limit| usize::try_from(limit).ok()).filter(|&limit| limit > 0);
                }
                "continue" => query.continue_token = text(),
                "resourceVersion" => query.resource_version = text(),
                "resourceVersionMatch" => query.resource_version_match = text(),
                "labelSelector" => query.label_selector = text(),
                "fieldSelector" => query.field_selector = text(),
                "timeoutSeconds" => {
                    query.timeout_seconds = number(&value)?.and_then(|seconds| u64::try_from(seconds).ok());
                }
                "allowWatchBookmarks" => query.bookmarks = truth(&value),
                "sendInitialEvents" => query.initial_events = Some(truth(&value)),
                "dryRun" => query.dry_run.push(value.to_string()),
                "fieldManager" => query.field_manager = text(),
                "fieldValidation" => query.field_validation = text(),
                "force" => query.force = Some(truth(&value)),
                "gracePeriodSeconds" => query.grace_seconds = number(&value)?,
                "propagationPolicy" => query.propagation = text(),
                "orphanDependents" => query.orphan_dependents = Some(truth(&value)),
                "includeObject" => query.include_object = text(),
                _ => {}
            }
        }
        Ok(query)
    }
}

/// As a real server reads it: everything but these is true.
fn truth(value: &str) -> bool {
    !matches!(value, "false" | "0" | "False" | "FALSE")
}

fn number(value: &str) -> Result<Option<i64>, Status> {
    if value.is_empty() {
        return Ok(None);
    }
    let wrong = |_| Status::bad_request(format!("strconv.ParseInt: parsing {value:?}: invalid syntax"));
    value.parse().map(Some).map_err(wrong)
}
