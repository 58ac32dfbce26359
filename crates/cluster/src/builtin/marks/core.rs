//! Marks of the core group.

/// The core group, as [`super::marks`] reads it.
pub const CORE: &str = r#"
io.k8s.api.core.v1
  AppArmorProfile localhostProfile? type:v1.AppArmorProfileType
  AttachedVolume name:v1.UniqueVolumeName
  AzureDiskVolumeSource cachingMode:v1.AzureDataDiskCachingMode?="ReadWrite" fsType?="ext4"
    kind:v1.AzureDataDiskKind?="Shared" readOnly?=false
  AzureFilePersistentVolumeSource secretNamespace?!
  CSIVolumeSource fsType? readOnly?
  Capabilities add:v1.Capability drop:v1.Capability
  ClientIPConfig timeoutSeconds?
  ClusterTrustBundleProjection name? optional? signerName?
  ConfigMap immutable?
  ConfigMapEnvSource name%="" optional?
  ConfigMapKeySelector= name%="" optional?
  ConfigMapNodeConfigSource uid:types.UID
  ConfigMapProjection name%="" optional?
  ConfigMapVolumeSource defaultMode? name%="" optional?
  Container env[name]+name imagePullPolicy:v1.PullPolicy ports[containerPort,protocol]+containerPort resources{}
    restartPolicy:v1.ContainerRestartPolicy? terminationMessagePolicy:v1.TerminationMessagePolicy
    volumeDevices[devicePath]+devicePath volumeMounts[mountPath]+mountPath
  ContainerImage names!
  ContainerPort protocol:v1.Protocol="TCP"
  ContainerResizePolicy resourceName:v1.ResourceName restartPolicy:v1.ResourceResizeRestartPolicy
  ContainerRestartRule action:v1.ContainerRestartRuleAction-
  ContainerRestartRuleOnExitCodes operator:v1.ContainerRestartRuleOnExitCodesOperator- values[=]
  ContainerStateRunning startedAt{}
  ContainerStateTerminated finishedAt{} startedAt{}
  ContainerStatus allocatedResourcesStatus[name]+name lastState{} started? state{} stopSignal:v1.Signal?
    volumeMounts[mountPath]+mountPath
  DownwardAPIVolumeFile mode?
  DownwardAPIVolumeSource defaultMode?
  EmptyDirVolumeSource medium:v1.StorageMedium
  EndpointAddress= nodeName?
  EndpointPort= appProtocol? protocol:v1.Protocol
  EphemeralContainer env[name]+name imagePullPolicy:v1.PullPolicy ports[containerPort,protocol]+containerPort
    resources{} restartPolicy:v1.ContainerRestartPolicy? terminationMessagePolicy:v1.TerminationMessagePolicy
    volumeDevices[devicePath]+devicePath volumeMounts[mountPath]+mountPath
  Event eventTime{} firstTimestamp{} lastTimestamp{} metadata* reportingComponent! reportingInstance! source{}
  EventSeries lastObservedTime{}
  FCVolumeSource lun?
  FileKeySelector= optional?=false
  GRPCAction service?!=""
  GlusterfsPersistentVolumeSource endpointsNamespace?
  HTTPGetAction scheme:v1.URIScheme
  HostPathVolumeSource type:v1.HostPathType?
  ISCSIPersistentVolumeSource initiatorName? iscsiInterface="default"
  ISCSIVolumeSource initiatorName? iscsiInterface="default"
  ImageVolumeSource pullPolicy:v1.PullPolicy
  ImageVolumeStatus imageRef-
  KeyToPath mode?
  Lifecycle stopSignal:v1.Signal?
  LimitRange spec{}
  LimitRangeItem type:v1.LimitType
  LoadBalancerIngress ipMode:v1.LoadBalancerIPMode?
  LocalObjectReference= name%=""
  LocalVolumeSource fsType?
  ModifyVolumeStatus status:v1.PersistentVolumeClaimModifyVolumeStatus
  Namespace spec{} status{}
  NamespaceCondition lastTransitionTime{} status:v1.ConditionStatus type:v1.NamespaceConditionType
  NamespaceSpec finalizers:v1.FinalizerName
  NamespaceStatus conditions[type]+type phase:v1.NamespacePhase
  Node spec{} status{}
  NodeAddress type:v1.NodeAddressType
  NodeAllocatableResourceClaimStatus containers[=]
  NodeCondition lastHeartbeatTime{} lastTransitionTime{} status:v1.ConditionStatus type:v1.NodeConditionType
  NodeDaemonEndpoints kubeletEndpoint{}
  NodeFeatures supplementalGroupsPolicy?
  NodeRuntimeHandler name!
  NodeRuntimeHandlerFeatures recursiveReadOnlyMounts? userNamespaces?
  NodeSelector=
  NodeSelectorRequirement operator:v1.NodeSelectorOperator
  NodeSelectorTerm=
  NodeSpec podCIDRs[=]+
  NodeStatus addresses[type]+type conditions[type]+type daemonEndpoints{} nodeInfo{} phase:v1.NodePhase
    volumesInUse:v1.UniqueVolumeName
  NodeSwapStatus capacity?
  ObjectFieldSelector=
  ObjectReference= uid:types.UID
  PersistentVolume spec{} status{}
  PersistentVolumeClaim spec{} status{}
  PersistentVolumeClaimCondition lastProbeTime{} lastTransitionTime{} status:v1.ConditionStatus
    type:v1.PersistentVolumeClaimConditionType
  PersistentVolumeClaimSpec accessModes:v1.PersistentVolumeAccessMode resources{} storageClassName?
    volumeAttributesClassName? volumeMode:v1.PersistentVolumeMode?
  PersistentVolumeClaimStatus accessModes:v1.PersistentVolumeAccessMode
    allocatedResourceStatuses:v1.ClaimResourceStatus{+} conditions[type]+type currentVolumeAttributesClassName?
    phase:v1.PersistentVolumeClaimPhase
  PersistentVolumeSpec accessModes:v1.PersistentVolumeAccessMode claimRef{+}
    persistentVolumeReclaimPolicy:v1.PersistentVolumeReclaimPolicy volumeAttributesClassName?
    volumeMode:v1.PersistentVolumeMode?
  PersistentVolumeStatus phase:v1.PersistentVolumePhase
  Pod spec{} status{}
  PodCertificateProjection keyType- maxExpirationSeconds? signerName-
  PodCondition lastProbeTime{} lastTransitionTime{} status:v1.ConditionStatus type:v1.PodConditionType
  PodDNSConfigOption value?
  PodOS name:v1.OSName
  PodReadinessGate conditionType:v1.PodConditionType
  PodResourceClaim resourceClaimName? resourceClaimTemplateName?
  PodResourceClaimStatus resourceClaimName?
  PodSchedulingGroup podGroupName?
  PodSecurityContext fsGroup? fsGroupChangePolicy:v1.PodFSGroupChangePolicy? runAsGroup? runAsNonRoot? runAsUser?
    seLinuxChangePolicy:v1.PodSELinuxChangePolicy? supplementalGroupsPolicy:v1.SupplementalGroupsPolicy?
  PodSpec activeDeadlineSeconds? automountServiceAccountToken? containers[name]+name dnsPolicy:v1.DNSPolicy
    enableServiceLinks? ephemeralContainers[name]+name hostAliases[ip]+ip hostUsers? hostnameOverride?
    imagePullSecrets[name]+name initContainers[name]+name nodeSelector{=} preemptionPolicy:v1.PreemptionPolicy?
    priority? resourceClaims[name]+name~ restartPolicy:v1.RestartPolicy runtimeClassName? schedulingGates[name]+name
    setHostnameAsFQDN? shareProcessNamespace? terminationGracePeriodSeconds?
    topologySpreadConstraints[topologyKey,whenUnsatisfiable]+topologyKey volumes[name]+name~
  PodStatus conditions[type]+type hostIPs+ip phase:v1.PodPhase podIPs[ip]+ip qosClass:v1.PodQOSClass
    resize:v1.PodResizeStatus resourceClaimStatuses[name]+name~
  PodTemplate template{}
  PodTemplateSpec spec{}
  PortStatus error? protocol:v1.Protocol
  Probe terminationGracePeriodSeconds?
  ProjectedVolumeSource defaultMode? sources!
  RBDPersistentVolumeSource keyring="/etc/ceph/keyring" pool="rbd" user="admin"
  RBDVolumeSource keyring="/etc/ceph/keyring" pool="rbd" user="admin"
  ResourceFieldSelector= divisor{}
  ResourceHealth health:v1.ResourceHealthStatus message? resourceID:v1.ResourceID
  ResourceQuota spec{} status{}
  ResourceQuotaSpec scopes:v1.ResourceQuotaScope
  ResourceRequirements claims[name]
  ResourceStatus name:v1.ResourceName resources[resourceID]
  ScaleIOPersistentVolumeSource fsType="xfs" secretRef?! storageMode="ThinProvisioned"
  ScaleIOVolumeSource fsType="xfs" secretRef?! storageMode="ThinProvisioned"
  ScopeSelector=
  ScopedResourceSelectorRequirement operator:v1.ScopeSelectorOperator scopeName:v1.ResourceQuotaScope
  SeccompProfile localhostProfile? type:v1.SeccompProfileType
  Secret immutable? type:v1.SecretType
  SecretEnvSource name%="" optional?
  SecretKeySelector= name%="" optional?
  SecretProjection name%="" optional?
  SecretReference=
  SecretVolumeSource defaultMode? optional?
  SecurityContext allowPrivilegeEscalation? privileged? procMount:v1.ProcMountType? readOnlyRootFilesystem?
    runAsGroup? runAsNonRoot? runAsUser?
  Service spec{} status{}
  ServiceAccount automountServiceAccountToken? secrets[name]+name
  ServiceAccountTokenProjection expirationSeconds?
  ServicePort appProtocol? protocol:v1.Protocol="TCP" targetPort{}
  ServiceSpec allocateLoadBalancerNodePorts? externalTrafficPolicy:v1.ServiceExternalTrafficPolicy
    internalTrafficPolicy:v1.ServiceInternalTrafficPolicy? ipFamilies:v1.IPFamily ipFamilyPolicy:v1.IPFamilyPolicy?
    loadBalancerClass? ports[port,protocol]+port selector{=} sessionAffinity:v1.ServiceAffinity trafficDistribution?
    type:v1.ServiceType
  ServiceStatus conditions[type]+type loadBalancer{}
  Taint effect:v1.TaintEffect
  Toleration effect:v1.TaintEffect operator:v1.TolerationOperator tolerationSeconds?
  TopologySelectorTerm=
  TopologySpreadConstraint minDomains? nodeAffinityPolicy:v1.NodeInclusionPolicy?
    nodeTaintsPolicy:v1.NodeInclusionPolicy? whenUnsatisfiable:v1.UnsatisfiableConstraintAction
  TypedLocalObjectReference= apiGroup?!
  TypedObjectReference apiGroup?! namespace?
  VolumeMount mountPropagation:v1.MountPropagationMode? recursiveReadOnly:v1.RecursiveReadOnlyMode?
  VolumeMountStatus recursiveReadOnly:v1.RecursiveReadOnlyMode?
  WindowsSecurityContextOptions gmsaCredentialSpec? gmsaCredentialSpecName? hostProcess? runAsUserName?
"#;
