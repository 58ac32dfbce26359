//! What is looked at when the scheduler sends a write: it is good only for the object, or the version, that it was decided on.

use serde_json::Value;

use super::model::RECORD;
use super::{Checker, Rule};

impl Checker {
    /// The scheduler is about to send a write.
    pub fn check_request(&mut self, method: &str, path: &str, body: &Value) {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let given = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
        let has_version = given(&body["metadata"]["resourceVersion"]);
        match (method, &parts[..]) {
            ("DELETE", ["api", "v1", "namespaces", namespace, "pods", name]) => {
                let (uid, version) = (&body["preconditions"]["uid"], &body["preconditions"]["resourceVersion"]);
                if !given(uid) || !given(version) {
                    self.blind(&format!("deletes Pod {namespace}/{name} whatever its uid and version"), path);
                }
                self.check_deletion(namespace, name, uid.as_str(), version.as_str());
            }
            ("POST", ["api", "v1", "namespaces", namespace, "pods", name, "binding"])
                if !has_version || !given(&body["metadata"]["uid"]) =>
            {
                self.blind(&format!("binds Pod {namespace}/{name} whatever its uid and version"), path);
            }
            ("PATCH", [.., name]) if body["metadata"]["annotations"].get(RECORD).is_some() && !has_version => {
                self.blind(&format!("writes the plan record of {name} whatever its version"), path);
            }
            _ => {}
        }
    }

    fn blind(&mut self, what: &str, path: &str) {
        self.report(Rule::BlindWrite, format!("the scheduler {what}"), vec![path.to_owned()]);
    }
}
