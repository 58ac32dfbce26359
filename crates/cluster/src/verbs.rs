//! What is done about a request for objects: one module for each family of verbs, and the [`Call`] that they share.

pub mod definitions;
pub(crate) mod delete;
mod fit;
mod intake;
mod list;
pub(crate) mod metadata;
mod pods;
mod read;
mod reviews;
mod scale;
pub(crate) mod wanted;
mod watch;
pub(crate) mod write;

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{Method, Response};
use serde_json::Value;

use crate::api::Api;
use crate::http::answer;
use crate::http::body::Body;
use crate::http::media::{Form, View};
use crate::http::path::Target;
use crate::http::query::Query;
use crate::registry::Table;
use crate::resource::{Origin, Resource, Version};
use crate::status::{About, Fault, Status, What};
use crate::store::{Key, Shelf};
use crate::table::{self, Include};
use crate::user::User;
use intake::Strictness;

/// The longest name of a field manager.
const MANAGER_MAX: usize = 128;

/// One request for objects of a resource.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) api: Api,
    pub(crate) user: User,
    pub(crate) resource: Arc<Resource>,
    /// The version in which the client speaks; it is served.
    pub(crate) version: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    /// Empty for the object itself.
    pub(crate) subresource: String,
    pub(crate) query: Query,
    pub(crate) agent: String,
    pub(crate) form: Form,
    pub(crate) content_type: String,
    pub(crate) strictness: Strictness,
    pub(crate) include: Include,
    /// The kind of the options of this verb, for faults in them.
    pub(crate) options: &'static str,
    warnings: Mutex<Vec<String>>,
}

/// Answers a request for objects.
pub(crate) async fn call(
    api: &Api,
    user: &User,
    target: Target,
    query: Query,
    head: &http::request::Parts,
    body: Bytes,
) -> Result<Response<Body>, Status> {
    let header = |name| head.headers.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok());
    let table = api.registry.table();
    let Some(resource) = served(&table, &target) else { return nowhere(api, &target.group) };
    // No namespace is all namespaces to custom kinds, and leads nowhere for others.
    let target = match target.namespace.as_deref() {
        Some("") if resource.is_custom() && target.name.is_none() => Target { namespace: None, ..target },
        Some("") => return nowhere(api, &target.group),
        _ => target,
    };
    let collection = target.name.is_none();
    let query = Query { watch: query.watch || target.watch, ..query };
    if let Some(why) = target.name.as_deref().and_then(unusable) {
        return Err(Status::bad_request(why));
    }
    let options = match head.method {
        Method::PATCH => "PatchOptions",
        Method::PUT => "UpdateOptions",
        Method::DELETE => "DeleteOptions",
        _ => "CreateOptions",
    };
    let mut call = Call {
        api: api.clone(),
        user: user.clone(),
        version: target.version,
        namespace: target.namespace,
        name: target.name.unwrap_or_default(),
        subresource: target.subresource.unwrap_or_default(),
        query,
        agent: header(USER_AGENT).unwrap_or_default().to_owned(),
        form: Form::default(),
        content_type: header(CONTENT_TYPE).unwrap_or_default().to_owned(),
        strictness: Strictness::Warn,
        include: Include::default(),
        options,
        warnings: Mutex::default(),
        resource,
    };
    call.warn_of_deprecation();
    let prepared = call.prepare_answer(header(ACCEPT));
    let result = match prepared {
        Ok(()) => call.dispatch(&head.method, collection, body).await,
        Err(status) => Err(status),
    };
    Ok(result.unwrap_or_else(|status| answer::refusal(&status, &call.warnings())))
}

/// A path that leads nowhere in a group.
pub(crate) fn nowhere(api: &Api, group: &str) -> Result<Response<Body>, Status> {
    let table = api.registry.table();
    let built_in = table.resources.iter().any(|resource| resource.group == group && !resource.is_custom());
    if built_in { Err(Status::no_such_path()) } else { Ok(answer::nowhere()) }
}

/// The resource that a path leads to.
fn served(table: &Table, target: &Target) -> Option<Arc<Resource>> {
    let resource = table.find(&target.group, &target.plural)?;
    resource.served(&target.version)?;
    let placed = target.namespace.is_some();
    let fits = if placed { resource.namespaced } else { !resource.namespaced || target.name.is_none() };
    fits.then(|| resource.clone())
}

/// Why a name cannot be in a path.
fn unusable(name: &str) -> Option<String> {
    let why = match name {
        "." | ".." => format!("may not be '{name}'"),
        _ if name.contains('/') => "may not contain '/'".to_owned(),
        _ if name.contains('%') => "may not contain '%'".to_owned(),
        _ => return None,
    };
    Some(format!("Name parameter invalid: {name:?}: {why}"))
}

/// Makes an object whose kind tells where it goes, on behalf of someone inside.
pub(crate) async fn create_object(api: &Api, user: &User, object: &Value) -> Result<Value, Status> {
    let call = Call::inside(api, user, object)?;
    call.create(object.clone(), Vec::new()).await
}

impl Call {
    /// A call that comes from inside, about the resource of an object.
    pub(crate) fn inside(api: &Api, user: &User, object: &Value) -> Result<Self, Status> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let api_version = text(&object["apiVersion"]);
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let table = api.registry.table();
        let resource = table.of_kind(group, &text(&object["kind"])).ok_or_else(Status::no_such_path)?.clone();
        let namespace = resource.namespaced.then(|| text(&object["metadata"]["namespace"]));
        let name = text(&object["metadata"]["name"]);
        Ok(Self::on(api, user, resource, version, namespace, name))
    }

    /// A call that comes from inside.
    pub(crate) fn on(
        api: &Api,
        user: &User,
        resource: Arc<Resource>,
        version: &str,
        namespace: Option<String>,
        name: String,
    ) -> Self {
        Self {
            api: api.clone(),
            user: user.clone(),
            resource,
            version: version.to_owned(),
            namespace,
            name,
            subresource: String::new(),
            query: Query::default(),
            agent: user.name.rsplit(':').next().unwrap_or_default().to_owned(),
            form: Form::default(),
            content_type: String::new(),
            strictness: Strictness::Ignore,
            include: Include::default(),
            options: "CreateOptions",
            warnings: Mutex::default(),
        }
    }

    /// The same call through a subresource.
    pub(crate) fn through(self, subresource: &str) -> Self {
        Self { subresource: subresource.to_owned(), ..self }
    }

    /// The version in which the client speaks.
    ///
    /// # Panics
    /// Never: a call is made for versions that are served.
    pub(crate) fn version(&self) -> &Version {
        self.resource.versions.iter().find(|version| version.name == self.version).expect("the version is served")
    }

    pub(crate) fn api_version(&self) -> String {
        self.resource.api_version(&self.version)
    }

    pub(crate) fn shelf(&self) -> Shelf {
        shelf(&self.resource)
    }

    pub(crate) fn key(&self) -> Key {
        Key { namespace: self.namespace.clone().unwrap_or_default(), name: self.name.clone() }
    }

    pub(crate) fn not_found(&self) -> Status {
        Status::not_found(self.resource.about(&self.name))
    }

    pub(crate) fn warn(&self, warning: impl Into<String>) {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(warning.into());
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn dry_run(&self) -> Result<bool, Status> {
        intake::dry_run(&self.query.dry_run, self.options)
    }

    fn warn_of_deprecation(&self) {
        if let Some(warning) = self.version().deprecation.clone() {
            self.warn(warning);
        }
    }

    /// What has to be right before anything is done.
    fn prepare_answer(&mut self, accept: Option<&str>) -> Result<(), Status> {
        self.subresource_exists()?;
        self.form = Form::accepted(accept, self.resource.is_custom())?;
        self.strictness = Strictness::of(self.query.field_validation.as_deref(), self.options)?;
        self.include = self.query.include_object.as_deref().map(Include::parse).transpose()?.unwrap_or_default();
        let manager = self.query.field_manager.as_deref().unwrap_or_default();
        let odd = manager.chars().enumerate().find(|(_, sign)| sign.is_control());
        let fault = match odd {
            _ if manager.len() > MANAGER_MAX => Fault::of(
                What::TooLong,
                "fieldManager",
                manager.into(),
                format!("may not be more than {MANAGER_MAX} bytes"),
            ),
            Some((at, sign)) => {
                let detail = format!("invalid character U+{:04X} (at position {at})", u32::from(sign));
                Fault::of(What::Invalid, "fieldManager", manager.into(), detail)
            }
            None => return Ok(()),
        };
        Err(Status::invalid(About { group: "meta.k8s.io", kind: self.options, name: "" }, &[fault]))
    }

    fn subresource_exists(&self) -> Result<(), Status> {
        if self.resource.plural == "pods" && pods::NOT_SIMULATED.contains(&self.subresource.as_str()) {
            return Err(pods::not_simulated(self));
        }
        let has = &self.version().subresources;
        let exists = match self.subresource.as_str() {
            "" => true,
            "status" => has.status,
            "scale" => has.scale.is_some(),
            other => has.others.contains(&other) || other == "finalize" && self.resource.plural == "namespaces",
        };
        match exists {
            true => Ok(()),
            false if self.resource.is_custom() => Err(self.not_found()),
            false => Err(Status::no_such_path()),
        }
    }

    async fn dispatch(&self, method: &Method, collection: bool, body: Bytes) -> Result<Response<Body>, Status> {
        if matches!(self.resource.origin, Origin::Virtual) {
            return match *method {
                Method::POST => reviews::answer(self, &body).await,
                _ => Err(Status::method_not_allowed()),
            };
        }
        match (method.as_str(), self.subresource.as_str(), collection) {
            ("GET", "", _) if self.query.watch => self.watch(),
            ("GET", "", true) => self.list().await,
            ("POST", "", true) if self.resource.namespaced && self.namespace.is_none() => {
                match self.resource.is_custom() {
                    true => Ok(answer::nowhere()),
                    false => Err(Status::method_not_allowed()),
                }
            }
            ("POST", "", _) if collection || self.resource.is_custom() => {
                let (object, twice) = self.object(&body)?;
                if self.resource.plural == "bindings" {
                    return pods::bind(self, &object).await;
                }
                let made = self.create(object, twice).await?;
                Ok(self.show(201, made))
            }
            ("DELETE", "", true) => self.delete_collection(&body).await,
            ("GET", "" | "status", false) => self.get().await,
            ("PUT", "" | "status" | "finalize", false) => {
                let (object, twice) = self.object(&body)?;
                let (code, object) = self.put(object, twice).await?;
                Ok(self.show(code, object))
            }
            ("PATCH", "" | "status", false) => {
                let (code, object) = self.patch(&body).await?;
                Ok(self.show(code, object))
            }
            ("DELETE", "", false) => self.delete(&body).await,
            ("GET" | "PUT" | "PATCH", "scale", false) => scale::answer(self, method, &body).await,
            ("POST", "binding", false) => pods::bind(self, &self.object_of(&body, "", "Binding")?).await,
            ("POST", "eviction", false) => pods::evict(self, &self.object_of(&body, "policy", "Eviction")?).await,
            ("POST", "token", false) => {
                reviews::token(self, &self.object_of(&body, "authentication.k8s.io", "TokenRequest")?).await
            }
            ("PUT" | "PATCH", "", true) if self.resource.is_custom() => {
                Err(Status::bad_request("name must be provided"))
            }
            (method, _, _) if self.resource.is_custom() => {
                let verb = match method {
                    "POST" => "create",
                    "DELETE" => "delete",
                    "PUT" => "update",
                    "PATCH" => "patch",
                    _ => "get",
                };
                Err(Status::not_supported(verb, self.resource.about("")))
            }
            _ => Err(Status::method_not_allowed()),
        }
    }

    /// A form of answers that does not fit what was asked for.
    pub(crate) fn misfit_view(&self, asked: &str, what: &str, suffix: &str) -> Status {
        let kind = if self.resource.is_custom() {
            "unstructured.Unstructured"
        } else {
            &format!("core.{}", self.resource.kind)
        };
        let message = format!("you requested {asked}, but the requested object is {what} (*{kind}{suffix})");
        Status::other(406, "NotAcceptable", message)
    }

    /// One object in the form the client wants.
    pub(crate) fn show(&self, code: u16, object: Value) -> Response<Body> {
        let shown = match self.form.view {
            View::Whole => object,
            _ if object["kind"] == "Status" => object,
            View::MetadataList => {
                return answer::refusal(
                    &self.misfit_view("PartialObjectMetadataList", "not a list", ""),
                    &self.warnings(),
                );
            }
            View::Metadata => table::partial(&object),
            View::Table => {
                let metadata = serde_json::json!({"resourceVersion": object["metadata"]["resourceVersion"]});
                self.table(std::slice::from_ref(&object), &metadata, true)
            }
        };
        answer::value(code, &shown, self.form.encoding, &self.warnings())
    }
}

/// The shelf of a resource. Events have two shapes and one shelf.
pub(crate) fn shelf(resource: &Resource) -> Shelf {
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("" | "events.k8s.io", plural) => plural.into(),
        (group, plural) => format!("{plural}.{group}").into(),
    }
}
