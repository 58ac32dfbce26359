//! What pods have beside what every kind has: they are bound to nodes, evicted, and completed by admission.

use http::Response;
use serde_json::{Value, json};

use super::Call;
use super::delete::Options;
use super::metadata::{self, text};
use super::wanted::Rewrite;
use crate::builtin;
use crate::http::answer;
use crate::http::body::Body;
use crate::selector::Labels;
use crate::status::{Fault, Status};
use crate::store::Key;
use crate::user::User;

const ATTEMPTS: usize = 50;

/// POST of a `Binding`: a pod gets its node.
pub(crate) async fn bind(call: &Call, binding: &Value) -> Result<Response<Body>, Status> {
    let named = text(binding, "name");
    if !call.name.is_empty() && named != call.name {
        return Err(Status::bad_request("name in URL does not match name in Binding object"));
    }
    let name = named.to_owned();
    let call = call.pod(&name)?;
    let mut binding = binding.clone();
    let node = call.one("", "nodes", "", binding["target"]["name"].as_str().unwrap_or_default());
    builtin::topology_labels(&mut binding, node.as_ref());
    let faults = builtin::validate("Binding", "", &binding, None, "");
    if !faults.is_empty() {
        return Err(Status::other(500, "", joined(&faults)));
    }
    for _ in 0..ATTEMPTS {
        let pod = call.live().await?;
        refuse_binding(&call, &binding, &pod)?;
        let mut bound = pod.clone();
        builtin::bound(&mut bound, &binding, &call.api.clock.stamp());
        if call.dry_run()? {
            break;
        }
        if call.swap(&pod, bound).await? {
            break;
        }
    }
    let done = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(answer::value(201, &done, call.form.encoding, &call.warnings()))
}

/// Faults where nobody makes an invalid object of them.
fn joined(faults: &[Fault]) -> String {
    match faults {
        [one] => one.to_string(),
        many => format!("[{}]", many.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

fn refuse_binding(call: &Call, binding: &Value, pod: &Value) -> Result<(), Status> {
    let about = call.resource.about(&call.name);
    let bindings = crate::status::About { kind: "pods/binding", ..about };
    let (uid, version) = (text(binding, "uid"), text(binding, "resourceVersion"));
    if !uid.is_empty() && uid != text(pod, "uid") {
        let why = format!("UID in precondition: {uid}, UID in object meta: {}", text(pod, "uid"));
        return Err(call.precondition_failed(&why));
    }
    if !version.is_empty() && version != text(pod, "resourceVersion") {
        let now = text(pod, "resourceVersion");
        let why = format!("ResourceVersion in precondition: {version}, ResourceVersion in object meta: {now}");
        return Err(call.precondition_failed(&why));
    }
    let name = &call.name;
    if metadata::is_deleting(pod) {
        return Err(Status::conflict(bindings, &format!("pod {name} is being deleted, cannot be assigned to a host")));
    }
    if let Some(node) = pod["spec"]["nodeName"].as_str().filter(|node| !node.is_empty()) {
        return Err(Status::conflict(bindings, &format!("pod {name} is already assigned to node {node:?}")));
    }
    if pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
        return Err(Status::conflict(bindings, &format!("pod {name} has non-empty .spec.schedulingGates")));
    }
    Ok(())
}

/// POST of an `Eviction`: a pod is deleted if the disruption budgets allow it.
pub(crate) async fn evict(call: &Call, eviction: &Value) -> Result<Response<Body>, Status> {
    let given = text(eviction, "name");
    if !given.is_empty() && given != call.name {
        return Err(Status::bad_request("name in URL does not match name in Eviction object"));
    }
    let options = &eviction["deleteOptions"];
    let owned = |value: &Value| value.as_str().map(ToOwned::to_owned);
    let options = Options {
        grace_seconds: options["gracePeriodSeconds"].as_i64(),
        uid: owned(&options["preconditions"]["uid"]),
        resource_version: owned(&options["preconditions"]["resourceVersion"]),
        propagation: owned(&options["propagationPolicy"]),
        dry_run: call.dry_run()? || options["dryRun"].as_array().is_some_and(|values| !values.is_empty()),
        ..Options::default()
    };
    let call = call.pod(&call.name)?;
    let pod = call.live().await?;
    let phase = pod["status"]["phase"].as_str().unwrap_or_default();
    let going = metadata::is_deleting(&pod);
    call.preconditions(&options, &pod, text(&pod, "resourceVersion").parse().unwrap_or(0))?;
    if !going && !matches!(phase, "Succeeded" | "Failed" | "Pending") {
        ask_budgets(&call, &pod, options.dry_run).await?;
    }
    if !going {
        mark_disrupted(&call, options.dry_run).await?;
    }
    call.erase(&options).await?;
    let done = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(answer::value(201, &done, call.form.encoding, &call.warnings()))
}

/// Takes one disruption out of the pod's budget, if it has one.
async fn ask_budgets(call: &Call, pod: &Value, dry_run: bool) -> Result<(), Status> {
    for _ in 0..ATTEMPTS {
        let budgets = budgets_of(call, pod).await?;
        let (budgets, budget) = match budgets.as_slice() {
            [] => return Ok(()),
            [(call, budget)] => (call, budget),
            _ => {
                return Err(Status::other(
                    500,
                    "",
                    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
                ));
            }
        };
        if builtin::budget_ignores(budget, pod) {
            return Ok(());
        }
        let changed = builtin::spend(budget, &call.name, &call.api.clock.stamp())?;
        if dry_run {
            return Ok(());
        }
        match budgets.rewrite(&Rewrite::Put(changed)).await {
            Ok(_) => return Ok(()),
            Err(status) if status.reason == "Conflict" => {}
            Err(status) => return Err(status),
        }
    }
    Err(Status::too_many_requests("couldn't update the disruption budget in time"))
}

/// The budgets that a pod falls under.
async fn budgets_of(call: &Call, pod: &Value) -> Result<Vec<(Call, Value)>, Status> {
    let table = call.api.registry.table();
    let Some(resource) = table.find("policy", "poddisruptionbudgets") else { return Ok(Vec::new()) };
    let shelf = super::shelf(resource);
    let mut found = Vec::new();
    for (key, object) in call.api.store.list(&shelf, call.namespace.as_deref()).objects {
        let server = User::system("kube-apiserver");
        let budgets = Call::on(&call.api, &server, resource.clone(), "v1", call.namespace.clone(), key.name);
        let budget = budgets.value(&object).await?;
        let selector = Labels::from_object(&budget["spec"]["selector"])?;
        if budget["spec"]["selector"].is_object() && selector.matches(|key| pod["metadata"]["labels"][key].as_str()) {
            found.push((budgets.through("status"), budget));
        }
    }
    Ok(found)
}

/// The pod says why it goes. Nobody owns that.
async fn mark_disrupted(call: &Call, dry_run: bool) -> Result<(), Status> {
    for _ in 0..ATTEMPTS {
        let pod = call.live().await?;
        let mut marked = pod.clone();
        let condition = json!({
            "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting",
        });
        builtin::set_condition(&mut marked, condition, &call.api.clock.stamp());
        if dry_run || call.swap(&pod, marked).await? {
            return Ok(());
        }
    }
    Err(Status::modified(call.resource.about(&call.name)))
}

/// What needs containers that run.
pub(crate) const NOT_SIMULATED: [&str; 5] = ["log", "exec", "attach", "portforward", "proxy"];

/// `logs`, `exec` and their like.
pub(crate) fn not_simulated(call: &Call) -> Status {
    let message = format!(
        "`{}` is not available: the nodes of this cluster are simulated and run no containers (pod {:?})",
        call.subresource, call.name
    );
    Status::other(501, "NotImplemented", message)
}

impl Call {
    /// A call about a pod in the namespace of this one.
    fn pod(&self, name: &str) -> Result<Self, Status> {
        let table = self.api.registry.table();
        let resource = table.find("", "pods").ok_or_else(Status::no_such_path)?.clone();
        let on = Self::on(&self.api, &self.user, resource, "v1", self.namespace.clone(), name.to_owned());
        Ok(Self { query: self.query.clone(), form: self.form, agent: self.agent.clone(), ..on })
    }

    /// Stores a changed form of an object as it was read, past the rules for clients; false if it moved meanwhile.
    pub(crate) async fn swap(&self, live: &Value, changed: Value) -> Result<bool, Status> {
        let revision = text(live, "resourceVersion").parse().unwrap_or(0);
        let mut rest = self.for_storage(changed).await?;
        let index = metadata::index(self, &rest);
        match self.api.store.replace(&self.shelf(), self.key(), revision, &mut rest, index) {
            Ok(_) => Ok(true),
            Err(crate::store::Refused::Disk(error)) => Err(Status::internal(error)),
            Err(_) => Ok(false),
        }
    }

    /// Refuses objects in namespaces that are not there or on their way out.
    pub(crate) fn namespace_takes(&self, object: &Value) -> Result<(), Status> {
        let Some(namespace) = &self.namespace else { return Ok(()) };
        let key = Key { namespace: String::new(), name: namespace.clone() };
        let table = self.api.registry.table();
        let Some(namespaces) = table.find("", "namespaces") else { return Ok(()) };
        let found = self.api.store.get(&super::shelf(namespaces), &key);
        let Some(found) = found else { return Err(Status::not_found(namespaces.about(namespace))) };
        if metadata::is_deleting(&found.value("v1", "Namespace")) {
            let name = text(object, "name");
            let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
            let mut status = Status::forbidden(self.resource.about(name), &why);
            status.set_causes(vec![json!({
                "reason": "NamespaceTerminating", "message": format!("namespace {namespace} is being terminated"),
                "field": "metadata.namespace",
            })]);
            return Err(status);
        }
        Ok(())
    }

    /// What a default API server's admission plug-ins add to a changed object.
    pub(crate) fn plug_in_update(&self, object: &mut Value) {
        if self.resource.kind == "Pod" && self.resource.group.is_empty() && self.subresource.is_empty() {
            builtin::tolerations(object);
        }
    }

    /// What a default API server's admission plug-ins add to a new object.
    pub(crate) fn plug_in(&self, object: &mut Value) -> Result<(), Status> {
        if !self.resource.group.is_empty() {
            return Ok(());
        }
        match self.resource.kind.as_str() {
            "Pod" => self.plug_in_pod(object),
            "Node" if self.api.behaviour.taint_new_nodes => {
                builtin::taint_new_node(object);
                Ok(())
            }
            kind => {
                builtin::protect_storage(kind, object);
                Ok(())
            }
        }
    }

    fn plug_in_pod(&self, pod: &mut Value) -> Result<(), Status> {
        let name = text(pod, "name").to_owned();
        let refuse = |why: String| Status::forbidden(self.resource.about(&name), &why);
        builtin::tolerations(pod);
        let classes = self.all("scheduling.k8s.io", "priorityclasses");
        let wanted = pod["spec"]["priorityClassName"].as_str().unwrap_or_default();
        let class = classes.iter().find(|class| match wanted {
            "" => class["globalDefault"] == true,
            wanted => text(class, "name") == wanted,
        });
        builtin::priority(pod, class).map_err(refuse)?;
        if self.api.behaviour.service_accounts {
            let account =
                pod["spec"]["serviceAccountName"].as_str().filter(|name| !name.is_empty()).unwrap_or("default");
            let account = self.one("", "serviceaccounts", self.namespace.as_deref().unwrap_or_default(), account);
            builtin::service_account(pod, account.as_ref(), &self.api.entropy.suffix()).map_err(refuse)?;
        }
        Ok(())
    }

    /// A service gets an address and ports that no other has. Nothing answers there: the nodes are simulated.
    pub(crate) fn give_address(&self, service: &mut Value, live: Option<&Value>) {
        use crate::builtin::service;
        if let Some(live) = live {
            service::forget_what_no_longer_applies(service, live);
        }
        let all = self.all("", "services");
        let taken = |address: &str| all.iter().any(|other| other["spec"]["clusterIP"] == address);
        let address = || {
            let mut free = (0..65_534_u32).map(|number| number + 1).map(|n| format!("10.96.{}.{}", n / 256, n % 256));
            free.find(|address| !taken(address)).unwrap_or_default()
        };
        service::give_address(service, live, address);
        let mut ports: Vec<i64> = all
            .iter()
            .filter_map(|other| other["spec"]["ports"].as_array())
            .flatten()
            .filter_map(|port| port["nodePort"].as_i64())
            .collect();
        service::give_node_ports(service, live, || {
            let free = (30_000..32_768).find(|port| !ports.contains(port)).unwrap_or_default();
            ports.push(free);
            free
        });
    }

    /// All objects of a resource.
    fn all(&self, group: &str, plural: &str) -> Vec<Value> {
        let table = self.api.registry.table();
        let Some(resource) = table.find(group, plural) else { return Vec::new() };
        let api_version = resource.api_version(&resource.storage);
        let listed = self.api.store.list(&super::shelf(resource), None).objects;
        listed.iter().map(|(_, object)| object.value(&api_version, &resource.kind)).collect()
    }

    /// One object of a resource.
    pub(crate) fn one(&self, group: &str, plural: &str, namespace: &str, name: &str) -> Option<Value> {
        let table = self.api.registry.table();
        let resource = table.find(group, plural)?;
        let key = Key { namespace: namespace.to_owned(), name: name.to_owned() };
        let object = self.api.store.get(&super::shelf(resource), &key)?;
        Some(object.value(&resource.api_version(&resource.storage), &resource.kind))
    }
}
