//! Requests, spoiled in every way.

use std::fmt;

use bytes::Bytes;
use http::Request;
use serde_json::Value;
use trellis_testkit::mutate::{Dice, mutate};

use crate::bodies;
use crate::objects::Objects;

/// How much of a body stands in a message.
const SHOWN: usize = 3_000;

/// A request before it is built.
#[derive(Debug, Clone, Default)]
pub struct Described {
    method: String,
    target: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Described {
    /// A good request.
    pub fn plain(method: &str, target: &str, body: Option<&Value>) -> Self {
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let headers = vec![("content-type", "application/json".to_owned())];
        Self { method: method.to_owned(), target: target.to_owned(), headers, body }
    }

    pub fn method(&self) -> &str {
        &self.method
    }

    pub fn build(self) -> Result<Request<Bytes>, String> {
        let mut request = Request::builder().method(self.method.as_str()).uri(self.target.as_str());
        for (name, value) in &self.headers {
            request = request.header(*name, value.as_bytes());
        }
        request
            .body(self.body.into())
            .map_err(|error| format!("the test itself makes no request of {:?}: {error}", self.target))
    }
}

impl fmt::Display for Described {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = &self.body[..self.body.len().min(SHOWN)];
        let (body, more) = (String::from_utf8_lossy(body), self.body.len() - body.len());
        write!(out, "{} {} {:?} {body} (and {more} more bytes)", self.method, self.target, self.headers)
    }
}

/// One of several.
pub fn one<'a, T: ?Sized>(items: &[&'a T], dice: &mut Dice) -> &'a T {
    items[dice.below(items.len())]
}

/// Happens once in `n` times.
pub fn once_in(n: usize, dice: &mut Dice) -> bool {
    dice.below(n) == 0
}

/// The next request.
pub fn request(objects: &Objects, dice: &mut Dice) -> Described {
    let mut request = match dice.below(16) {
        0..=2 => create(objects, dice),
        3..=5 => replace(objects, dice),
        6..=10 => patch(objects, dice),
        11 | 12 => read(objects, dice),
        13 => delete(objects, dice),
        _ => anything(objects, dice),
    };
    if once_in(6, dice) {
        request.target = with_parameters(&request.target, dice);
    }
    if once_in(20, dice) {
        request.target = spoiled_path(&request.target, dice);
    }
    if once_in(12, dice) {
        bodies::spoil_bytes(&mut request.body, dice);
    }
    if once_in(10, dice) {
        request.headers.push(("accept", one(&ACCEPTED, dice).to_owned()));
    }
    if once_in(15, dice) {
        request.headers.retain(|(name, _)| *name != "content-type");
        request.headers.push(("content-type", one(&CONTENTS, dice).to_owned()));
    }
    if once_in(40, dice) {
        request.method = one(&METHODS, dice).to_owned();
    }
    if once_in(20, dice) {
        request.headers.push(("user-agent", one(&["", "a/b/c", "/", "kubectl/v1", "é", " "], dice).to_owned()));
    }
    request
}

const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "ODD"];
const ACCEPTED: [&str; 12] = [
    "application/json",
    "application/yaml",
    "*/*",
    "",
    ";;,=",
    "text/html",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
    "application/json;as=Table;v=v2;g=meta.k8s.io",
    "application/vnd.kubernetes.protobuf",
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
];
const CONTENTS: [&str; 12] = [
    "application/json",
    "application/json;charset=utf-8",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "text/plain",
    "",
    ";",
    "application/cbor",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];
const PATCHES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

/// An object to start from: mostly a good one.
fn object<'a>(objects: &'a Objects, dice: &mut Dice) -> &'a Value {
    match dice.below(8) {
        0 => &objects.definitions[dice.below(objects.definitions.len())],
        1 | 2 => &objects.full[dice.below(objects.full.len())],
        _ => &objects.good[dice.below(objects.good.len())],
    }
}

fn spoiled(start: &Value, objects: &Objects, dice: &mut Dice) -> Value {
    let mut value = start.clone();
    if !once_in(8, dice) {
        mutate(&mut value, object(objects, dice), dice);
    }
    value
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or("none")
}

fn create(objects: &Objects, dice: &mut Dice) -> Described {
    let start = object(objects, dice);
    let mut body = spoiled(start, objects, dice);
    if body["metadata"].is_object() && !once_in(4, dice) {
        body["metadata"]["name"] =
            Value::String(format!("{}{}", one(&["a", "b", "b-", "c.d-"], dice), dice.below(1000)));
        if once_in(5, dice) {
            body["metadata"]["generateName"] = body["metadata"]["name"].take();
        }
    }
    Described::plain("POST", &objects.collection(start), Some(&body))
}

fn replace(objects: &Objects, dice: &mut Dice) -> Described {
    let start = object(objects, dice);
    let body = spoiled(start, objects, dice);
    let path = format!("{}/{}{}", objects.collection(start), name(start), subresource(objects, dice));
    Described::plain(if once_in(10, dice) { "POST" } else { "PUT" }, &path, Some(&body))
}

fn subresource(objects: &Objects, dice: &mut Dice) -> String {
    match dice.below(4) {
        0 => "/status".to_owned(),
        1 if once_in(3, dice) => format!("/{}", one(&objects.subresources, dice)),
        _ => String::new(),
    }
}

fn patch(objects: &Objects, dice: &mut Dice) -> Described {
    let start = object(objects, dice);
    let kind = one(&PATCHES, dice);
    let body = match kind {
        "application/json-patch+json" => bodies::json_patch(start, object(objects, dice), dice),
        "application/merge-patch+json" => bodies::part(&spoiled(start, objects, dice), dice),
        "application/strategic-merge-patch+json" => bodies::strategic_patch(&spoiled(start, objects, dice), dice),
        _ => spoiled(start, objects, dice),
    };
    let mut path = format!("{}/{}{}", objects.collection(start), name(start), subresource(objects, dice));
    if kind == "application/apply-patch+yaml" && !once_in(20, dice) {
        path += &format!("?fieldManager={}", one(&["a", "b", "before-first-apply"], dice));
        path += one(&["", "&force=true"], dice);
    }
    let mut request = Described::plain("PATCH", &path, Some(&body));
    request.headers = vec![("content-type", kind.to_owned())];
    request
}

fn read(objects: &Objects, dice: &mut Dice) -> Described {
    let start = object(objects, dice);
    let mut path = objects.collection(start);
    if once_in(2, dice) {
        path = format!("{path}/{}{}", name(start), subresource(objects, dice));
    }
    let mut request = Described::plain("GET", &with_parameters(&path, dice), None);
    if once_in(2, dice) {
        request.headers.push(("accept", one(&ACCEPTED, dice).to_owned()));
    }
    request
}

fn delete(objects: &Objects, dice: &mut Dice) -> Described {
    let start = object(objects, dice);
    let mut path = objects.collection(start);
    // Rarely all of a kind, or soon nothing is left.
    if once_in(5, dice) {
        path += "?labelSelector=app%3Da";
    } else {
        path = format!("{path}/{}", name(start));
    }
    let body = bodies::delete_options(dice);
    Described::plain("DELETE", &path, body.as_ref())
}

fn anything(objects: &Objects, dice: &mut Dice) -> Described {
    const PATHS: [&str; 26] = [
        "/",
        "/api",
        "/apis",
        "/api/v1",
        "/apis/apps/v1",
        "/apis/conformance.example.com",
        "/openapi/v3",
        "/openapi/v2",
        "/openapi/v3/api/v1?hash=x",
        "/openapi/v3/apis/conformance.example.com/v1",
        "/version",
        "/readyz?verbose",
        "/livez/ping",
        "/metrics",
        "/logs",
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        "/apis/authentication.k8s.io/v1/tokenreviews",
        "/api/v1/namespaces/default/bindings",
        "/api/v1/namespaces/default/pods/one/binding",
        "/api/v1/namespaces/default/pods/one/eviction",
        "/api/v1/namespaces/default/serviceaccounts/one/token",
        "/api/v1/namespaces/other/finalize",
        "/apis/conformance.example.com/v1/namespaces/default/widgets/one/scale",
        "/api/v1/watch/pods",
    ];
    let path = one(&PATHS, dice);
    let method = if once_in(2, dice) { one(&METHODS, dice) } else { one(&["GET", "POST", "PUT"], dice) };
    let body = bodies::for_path(path, dice).unwrap_or_else(|| object(objects, dice).clone());
    let body = spoiled(&body, objects, dice);
    let mut request = Described::plain(method, path, Some(&body));
    if once_in(6, dice) {
        request.body = bodies::strange(dice);
        request.headers = vec![("content-type", one(&CONTENTS, dice).to_owned())];
    }
    request
}

/// The path with one to four parameters that make more or less sense.
fn with_parameters(path: &str, dice: &mut Dice) -> String {
    const NAMES: [&str; 20] = [
        "watch",
        "limit",
        "continue",
        "resourceVersion",
        "resourceVersionMatch",
        "labelSelector",
        "fieldSelector",
        "timeoutSeconds",
        "allowWatchBookmarks",
        "sendInitialEvents",
        "dryRun",
        "fieldManager",
        "fieldValidation",
        "force",
        "gracePeriodSeconds",
        "propagationPolicy",
        "orphanDependents",
        "includeObject",
        "pretty",
        "",
    ];
    const VALUES: [&str; 44] = [
        "",
        "true",
        "false",
        "0",
        "1",
        "-1",
        "3",
        "500",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551615",
        "1e9",
        "0x10",
        "%201",
        "%00",
        "%ff",
        "%F0%9F%A6%80",
        "All",
        "None",
        "Exact",
        "NotOlderThan",
        "Foreground",
        "Orphan",
        "Strict",
        "Warn",
        "Ignore",
        "Object",
        "a",
        "a%3Db",
        "a!%3Db",
        "a%20in%20(b,c)",
        "!a",
        "a%20in%20(",
        "a%3Db,,",
        "%3D",
        "metadata.name%3Done",
        "spec.nodeName!%3Dx",
        "spec.mode%3Dfast",
        "metadata.name%3D%5C",
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0",
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiXHUwMDAwIn0",
        "e30",
        "bnVsbA",
        "%26%3D%3F%23",
    ];
    let mut text = path.to_owned();
    for _ in 0..=dice.below(4) {
        let mark = if text.contains('?') { '&' } else { '?' };
        text += &format!("{mark}{}={}", one(&NAMES, dice), one(&VALUES, dice));
    }
    if once_in(10, dice) {
        text += &format!("&fieldManager={}", "m".repeat(dice.below(300)));
    }
    text
}

/// The path with a segment that is odd.
fn spoiled_path(target: &str, dice: &mut Dice) -> String {
    const SEGMENTS: [&str; 20] = [
        "",
        ".",
        "..",
        "%2e%2e",
        "%2F",
        "%00",
        "%ff",
        "%",
        "%zz",
        "%25",
        "a%2Fb",
        "A",
        "-",
        "*",
        "~",
        "namespaces",
        "status",
        "one",
        "default",
        "%F0%9F%A6%80",
    ];
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut segments: Vec<String> = path.split('/').map(str::to_owned).collect();
    let at = 1 + dice.below(segments.len() - 1);
    match dice.below(4) {
        0 => drop(segments.remove(at)),
        1 => segments.insert(at, one(&SEGMENTS, dice).to_owned()),
        2 => segments.push("x".repeat(dice.below(300))),
        _ => one(&SEGMENTS, dice).clone_into(&mut segments[at]),
    }
    let path = segments.join("/");
    let path = if path.starts_with('/') { path } else { format!("/{path}") };
    if query.is_empty() { path } else { format!("{path}?{query}") }
}
