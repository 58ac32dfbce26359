//! What a node does with one pod: which containers run, which have ended, which start again, and when something happens next.
//!
//! Decided from the pod, how it behaves, the outcomes so far and the time, and nothing else. The node's memory of a pod can be rebuilt
//! from the pod's status, so that a simulator that starts anew goes on where the one before it ended.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, ContainerState, ContainerStateTerminated, ContainerStatus, Pod};

use super::admission::Rejection;
use super::behaviour::{Behaviour, Duty, Outcome};
use super::charge::is_sidecar;

/// A moment, twice: for waiting and for stamps. Clocks of the second sort may stand still or jump.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    /// Since the simulator's start; negative for what was before it.
    pub(super) at: SignedDuration,
    /// As it stands in objects.
    pub(super) stamp: Timestamp,
}

/// What a container is to its pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Runs to its end before the next one starts.
    Init,
    /// An init container that keeps running.
    Sidecar,
    /// One of those that the pod is there for.
    Main,
}

/// How a run of a container ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct End {
    pub(super) code: i32,
    pub(super) reason: String,
    pub(super) message: Option<String>,
    pub(super) started: Option<Timestamp>,
    pub(super) finished: Option<Timestamp>,
    at: SignedDuration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// Has never run.
    Waiting,
    Running {
        since: Timestamp,
        at: SignedDuration,
    },
    Ended(End),
}

/// A container on its node.
#[derive(Debug, Clone)]
pub(super) struct ContainerLife {
    pub(super) role: Role,
    pub(super) state: State,
    /// The run before this one.
    pub(super) last: Option<End>,
    pub(super) restarts: i32,
    /// Ends in a row, without a long run in between.
    pub(super) crashes: u32,
    /// Whether the hook has been asked about this run.
    asked: bool,
}

/// A pod on its node.
#[derive(Debug, Clone)]
pub(super) struct PodLife {
    /// Init containers first, each in the order of the pod.
    pub(super) containers: Vec<ContainerLife>,
    pub(super) started: Option<Timestamp>,
    /// Why the pod failed as a whole, if it did.
    pub(super) failure: Option<Rejection>,
    /// Nothing runs any more, nor will.
    pub(super) over: bool,
    admitted: bool,
    initialized: Option<SignedDuration>,
    stopping: Option<SignedDuration>,
}

/// What follows from a step.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Next {
    /// Containers, by index, whose hook is to be asked how they end.
    pub(super) begin: Vec<usize>,
    /// When to step again, if nothing happens before.
    pub(super) wake: Option<SignedDuration>,
}

impl Next {
    fn wake(&mut self, at: SignedDuration) {
        self.wake = Some(self.wake.map_or(at, |earlier| earlier.min(at)));
    }
}

/// The containers of a pod in the order of [`PodLife::containers`].
pub(super) fn specs(pod: &Pod) -> impl Iterator<Item = &Container> {
    let inits = pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten());
    inits.chain(pod.spec.iter().flat_map(|spec| &spec.containers))
}

/// Whether the pod has succeeded or failed for good.
pub(super) fn is_terminal(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

impl PodLife {
    /// What the pod's status says has happened so far; nothing, for a pod that is new on its node.
    pub(super) fn of(pod: &Pod, now: Moment) -> Self {
        let status = pod.status.as_ref();
        let inits = status.and_then(|status| status.init_container_statuses.as_deref()).unwrap_or_default();
        let mains = status.and_then(|status| status.container_statuses.as_deref()).unwrap_or_default();
        let init_count = pod.spec.as_ref().and_then(|spec| spec.init_containers.as_ref()).map_or(0, Vec::len);
        let life = |(index, container): (usize, &Container)| {
            let is_main = index >= init_count;
            let role = match is_sidecar(container) {
                _ if is_main => Role::Main,
                true => Role::Sidecar,
                false => Role::Init,
            };
            let known = if is_main { mains } else { inits }.iter().find(|status| status.name == container.name);
            ContainerLife::of(role, known, now)
        };
        let started = status.and_then(|status| status.start_time.as_ref()).map(|time| time.0);
        Self {
            containers: specs(pod).enumerate().map(life).collect(),
            started,
            failure: None,
            over: is_terminal(pod),
            admitted: started.is_some(),
            initialized: None,
            stopping: None,
        }
    }

    /// Whether the node has still to decide if it takes the pod.
    pub(super) fn is_new(&self) -> bool {
        !self.admitted && self.failure.is_none() && !self.over
    }

    /// The node takes the pod.
    pub(super) fn admit(&mut self, now: Moment) {
        self.admitted = true;
        self.started.get_or_insert(now.stamp);
    }

    /// The node does not take the pod.
    pub(super) fn reject(&mut self, rejection: Rejection, now: Moment) {
        self.failure = Some(rejection);
        self.over = true;
        self.started.get_or_insert(now.stamp);
    }

    /// Does what is due now.
    pub(super) fn step(&mut self, pod: &Pod, behaviour: &Behaviour, now: Moment) -> Next {
        let mut next = Next::default();
        if is_terminal(pod) {
            self.over = true;
        } else if self.over {
            // The status is still to be written.
        } else if pod.metadata.deletion_timestamp.is_some() {
            self.stop(pod, behaviour, now, &mut next);
        } else if self.admitted {
            self.advance(pod, behaviour, now, &mut next);
        }
        next
    }

    /// Ends a run as `outcome` says, if that run, the one after `restarts` restarts, still lasts.
    pub(super) fn ended(&mut self, index: usize, restarts: i32, outcome: &Outcome, behaviour: &Behaviour, now: Moment) {
        let container = self.containers.get_mut(index).filter(|container| container.restarts == restarts);
        if let Some(container) = container {
            container.end(outcome, behaviour, now);
        }
    }

    /// The first container that runs and that `name` fits, if there is one.
    pub(super) fn running(&self, pod: &Pod, name: Option<&str>) -> Option<usize> {
        let runs = |(life, spec): (&ContainerLife, &Container)| {
            life.is_running() && name.map_or(life.role == Role::Main, |name| name == spec.name)
        };
        self.containers.iter().zip(specs(pod)).position(runs)
    }

    /// Whether every init container has done its part.
    pub(super) fn is_initialized(&self) -> bool {
        let done = |container: &ContainerLife| match container.role {
            Role::Init => container.has_succeeded(),
            Role::Sidecar => container.is_running(),
            Role::Main => true,
        };
        self.mains().any(|main| main.state != State::Waiting) || self.containers.iter().all(done)
    }

    /// The phase that follows from the containers.
    pub(super) fn phase(&self) -> &'static str {
        let succeeded = self.mains().all(ContainerLife::has_succeeded);
        match (self.over, self.failure.is_none() && succeeded) {
            (true, true) => "Succeeded",
            (true, false) => "Failed",
            (false, _) if self.mains().all(|main| main.state != State::Waiting) => "Running",
            (false, _) => "Pending",
        }
    }

    fn mains(&self) -> impl Iterator<Item = &ContainerLife> {
        self.containers.iter().filter(|container| container.role == Role::Main)
    }

    fn advance(&mut self, pod: &Pod, behaviour: &Behaviour, now: Moment, next: &mut Next) {
        if self.outlives_deadline(pod, now, next) {
            let message = "Pod was active on the node longer than the specified deadline".to_owned();
            self.failure = Some(Rejection { reason: "DeadlineExceeded".to_owned(), message });
            self.finish(&Outcome::of_code(137), now);
            return;
        }
        for (index, spec) in specs(pod).enumerate() {
            let Some(container) = self.containers.get_mut(index) else { return };
            let role = container.role;
            let duty = match role {
                Role::Init => &behaviour.init,
                Role::Sidecar => &Duty::Forever,
                Role::Main => &behaviour.run,
            };
            let may_start = match role {
                Role::Main => self.initialized.get_or_insert(now.at).saturating_add(signed(behaviour.start_after)),
                Role::Init | Role::Sidecar => now.at,
            };
            let restarts = |code| restarts(pod, spec, role, code);
            if container.drive(duty, may_start, restarts, behaviour, now, next) {
                next.begin.push(index);
            }
            let is_behind = match role {
                Role::Init => !container.has_succeeded(),
                Role::Sidecar => !container.is_running() && self.initialized.is_none(),
                Role::Main => false,
            };
            if is_behind {
                if container.ended_for_good(pod, spec) {
                    self.finish(&Outcome::Success, now);
                }
                return;
            }
        }
        let mut with_specs = self.containers.iter().zip(specs(pod)).filter(|(life, _)| life.role == Role::Main);
        if with_specs.all(|(life, spec)| life.ended_for_good(pod, spec)) {
            self.finish(&Outcome::Success, now);
        }
    }

    fn outlives_deadline(&self, pod: &Pod, now: Moment, next: &mut Next) -> bool {
        let seconds = pod.spec.as_ref().and_then(|spec| spec.active_deadline_seconds);
        let (Some(seconds), Some(started)) = (seconds, self.started) else { return false };
        let left = SignedDuration::from_secs(seconds).saturating_sub(now.stamp.duration_since(started));
        if left > SignedDuration::ZERO {
            next.wake(now.at.saturating_add(left));
        }
        left <= SignedDuration::ZERO
    }

    /// The pod is deleted: containers have as long as they take and the grace period allows.
    fn stop(&mut self, pod: &Pod, behaviour: &Behaviour, now: Moment, next: &mut Next) {
        let since = *self.stopping.get_or_insert(now.at);
        let grace = SignedDuration::from_secs(pod.metadata.deletion_grace_period_seconds.unwrap_or(0).max(0));
        let time = behaviour.stop_after.map(signed);
        let outcome = match time {
            Some(time) if time <= grace => Outcome::of_code(behaviour.stop_exit_code),
            _ => Outcome::of_code(137),
        };
        let until = time.map(|time| since.saturating_add(time.min(grace)));
        match until {
            _ if !self.containers.iter().any(ContainerLife::is_running) => self.finish(&outcome, now),
            Some(until) if until <= now.at => self.finish(&outcome, now),
            Some(until) => next.wake(until),
            None => {}
        }
    }

    /// Ends everything. What should have run and did not is told as a kubelet tells it.
    fn finish(&mut self, outcome: &Outcome, now: Moment) {
        let initialized = self.is_initialized();
        let untouched = self.containers.iter().all(|container| container.state == State::Waiting);
        for (index, container) in self.containers.iter_mut().enumerate() {
            let expected = if container.role == Role::Main { initialized } else { index == 0 && untouched };
            match container.state {
                State::Running { since, .. } => container.state = State::Ended(End::of(outcome, since, now)),
                State::Waiting if expected => container.state = State::Ended(End::unknown(now)),
                State::Waiting | State::Ended(_) => {}
            }
        }
        self.over = true;
    }
}

impl ContainerLife {
    fn of(role: Role, known: Option<&ContainerStatus>, now: Moment) -> Self {
        let ended = |state: Option<&ContainerState>| {
            state.and_then(|state| state.terminated.as_ref()).map(|end| End::known(end, now))
        };
        let state = known.and_then(|status| status.state.as_ref());
        let last = ended(known.and_then(|status| status.last_state.as_ref()));
        let restarts = known.map_or(0, |status| status.restart_count);
        let running = state.and_then(|state| state.running.as_ref());
        let (state, last) = match (running, ended(state), last) {
            (Some(running), _, last) => {
                let since = running.started_at.as_ref().map_or(now.stamp, |time| time.0);
                let at = now.at.saturating_sub(now.stamp.duration_since(since));
                (State::Running { since, at }, last)
            }
            (None, Some(end), last) => (State::Ended(end), last),
            // Between two runs only the one that ended is told.
            (None, None, Some(end)) => (State::Ended(end), None),
            (None, None, None) => (State::Waiting, None),
        };
        let ends = u32::from(matches!(state, State::Ended(_)));
        let crashes = u32::try_from(restarts).unwrap_or(0).saturating_add(ends);
        Self { role, state, last, restarts, crashes, asked: false }
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }

    pub(super) fn has_succeeded(&self) -> bool {
        matches!(&self.state, State::Ended(end) if end.code == 0)
    }

    /// Whether the container has ended and will not run again.
    fn ended_for_good(&self, pod: &Pod, spec: &Container) -> bool {
        matches!(&self.state, State::Ended(end) if !restarts(pod, spec, self.role, end.code))
    }

    /// Starts, restarts and ends the container as far as that is due; true if its hook is to be asked.
    fn drive(
        &mut self,
        duty: &Duty,
        may_start: SignedDuration,
        restarts: impl Fn(i32) -> bool,
        behaviour: &Behaviour,
        now: Moment,
        next: &mut Next,
    ) -> bool {
        let start = match &self.state {
            State::Waiting => Some(may_start),
            State::Ended(end) if restarts(end.code) => Some(end.at.saturating_add(self.backoff(behaviour))),
            State::Ended(_) | State::Running { .. } => None,
        };
        match start {
            Some(start) if start <= now.at => self.start(now),
            Some(start) => next.wake(start),
            None => {}
        }
        let State::Running { at, .. } = self.state else { return false };
        match duty {
            Duty::Forever => false,
            Duty::Hook => !std::mem::replace(&mut self.asked, true),
            Duty::For(time, outcome) => {
                let until = at.saturating_add(signed(*time));
                if until <= now.at {
                    self.end(outcome, behaviour, now);
                    // It may have to run again, which a second look decides.
                    if let State::Ended(end) = &self.state
                        && restarts(end.code)
                    {
                        next.wake(end.at.saturating_add(self.backoff(behaviour)));
                    }
                } else {
                    next.wake(until);
                }
                false
            }
        }
    }

    fn start(&mut self, now: Moment) {
        let before = std::mem::replace(&mut self.state, State::Running { since: now.stamp, at: now.at });
        if let State::Ended(end) = before {
            self.last = Some(end);
            self.restarts = self.restarts.saturating_add(1);
        }
        self.asked = false;
    }

    fn end(&mut self, outcome: &Outcome, behaviour: &Behaviour, now: Moment) {
        if let State::Running { since, at } = self.state {
            // Ten times the longest wait without an end is a container that works again.
            let is_long = now.at.saturating_sub(at) >= signed(behaviour.restart_max).saturating_mul(10);
            self.crashes = if is_long { 1 } else { self.crashes.saturating_add(1) };
            self.state = State::Ended(End::of(outcome, since, now));
        }
    }

    /// How long the container waits before it runs again.
    pub(super) fn backoff(&self, behaviour: &Behaviour) -> SignedDuration {
        let doublings = self.crashes.saturating_sub(1).min(20);
        signed(behaviour.restart_after.saturating_mul(1 << doublings).min(behaviour.restart_max))
    }
}

impl End {
    fn of(outcome: &Outcome, started: Timestamp, now: Moment) -> Self {
        let (code, reason) = match outcome {
            Outcome::Success => (0, "Completed".to_owned()),
            Outcome::Failed { exit_code, reason } => (*exit_code, reason.clone()),
        };
        Self { code, reason, message: None, started: Some(started), finished: Some(now.stamp), at: now.at }
    }

    /// Of a container that never ran in a pod that is over.
    fn unknown(now: Moment) -> Self {
        Self {
            code: 137,
            reason: "ContainerStatusUnknown".to_owned(),
            message: Some("The container could not be located when the pod was terminated".to_owned()),
            started: None,
            finished: None,
            at: now.at,
        }
    }

    fn known(end: &ContainerStateTerminated, now: Moment) -> Self {
        Self {
            code: end.exit_code,
            reason: end.reason.clone().unwrap_or_default(),
            message: end.message.clone(),
            started: end.started_at.as_ref().map(|time| time.0),
            finished: end.finished_at.as_ref().map(|time| time.0),
            at: now.at,
        }
    }
}

/// Whether a container that ended with `code` runs again.
pub(super) fn restarts(pod: &Pod, spec: &Container, role: Role, code: i32) -> bool {
    let of_pod = pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref());
    match spec.restart_policy.as_deref().or(of_pod) {
        Some("Never") => false,
        Some("OnFailure") => code != 0,
        _ => role != Role::Init || code != 0,
    }
}

fn signed(time: std::time::Duration) -> SignedDuration {
    SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX)
}

#[cfg(test)]
mod tests;
