//! Marks of the groups beside the core group.

/// All other groups and the types all groups share, as [`super::marks`] reads it.
pub const OTHERS: &str = r#"
io.k8s.api.admissionregistration.v1
  MutatingWebhook failurePolicy:v1.FailurePolicyType? matchConditions[name]+name matchPolicy:v1.MatchPolicyType?
    reinvocationPolicy:v1.ReinvocationPolicyType? sideEffects:v1.SideEffectClass?! timeoutSeconds?
  MutatingWebhookConfiguration webhooks[name]+name
  RuleWithOperations operations:v1.OperationType scope:v1.ScopeType?
  ServiceReference path? port?
  ValidatingWebhook failurePolicy:v1.FailurePolicyType? matchConditions[name]+name matchPolicy:v1.MatchPolicyType?
    sideEffects:v1.SideEffectClass?! timeoutSeconds?
  ValidatingWebhookConfiguration webhooks[name]+name
  WebhookClientConfig url?
io.k8s.api.authentication.v1
  BoundObjectReference uid:types.UID
  SelfSubjectReview status{}
  SelfSubjectReviewStatus userInfo{}
  TokenRequest spec%{} status{}
  TokenRequestSpec audiences%! boundObjectRef?! expirationSeconds?!
  TokenRequestStatus expirationTimestamp%{} token%!
  TokenReview status{}
  TokenReviewSpec token*-
  TokenReviewStatus user{}
io.k8s.api.authorization.v1
  LocalSubjectAccessReview status{}
  SelfSubjectAccessReview status{}
  SelfSubjectRulesReview status{}
  SubjectAccessReview status{}
io.k8s.api.autoscaling.v1
  CrossVersionObjectReference=
  HorizontalPodAutoscaler status{}
  HorizontalPodAutoscalerSpec minReplicas? targetCPUUtilizationPercentage?
  HorizontalPodAutoscalerStatus currentCPUUtilizationPercentage? observedGeneration?
  Scale spec{} status{}
  ScaleSpec replicas=0
io.k8s.api.autoscaling.v2
  ContainerResourceMetricSource name:v1.ResourceName
  ContainerResourceMetricStatus name:v1.ResourceName
  HPAScalingPolicy type:v2.HPAScalingPolicyType
  HPAScalingRules selectPolicy:v2.ScalingPolicySelect? stabilizationWindowSeconds?
  HorizontalPodAutoscaler spec* status{}
  HorizontalPodAutoscalerCondition lastTransitionTime{} status:v1.ConditionStatus
    type:v2.HorizontalPodAutoscalerConditionType
  HorizontalPodAutoscalerSpec minReplicas?
  HorizontalPodAutoscalerStatus conditions[type]+type currentMetrics! observedGeneration?
  MetricSpec type:v2.MetricSourceType
  MetricStatus type:v2.MetricSourceType
  MetricTarget averageUtilization? type:v2.MetricTargetType
  MetricValueStatus averageUtilization?
  ResourceMetricSource name:v1.ResourceName
  ResourceMetricStatus name:v1.ResourceName
io.k8s.api.coordination.v1
  Lease spec{}
  LeaseSpec holderIdentity? leaseDurationSeconds? leaseTransitions? preferredHolder?
    strategy:v1.CoordinatedLeaseStrategy?
io.k8s.api.events.v1
  Event deprecatedFirstTimestamp{} deprecatedLastTimestamp{} deprecatedSource{} eventTime* regarding{}
io.k8s.api.node.v1
  Scheduling nodeSelector{=}
io.k8s.api.policy.v1
  PodDisruptionBudget spec{} status{}
  PodDisruptionBudgetSpec selector^ unhealthyPodEvictionPolicy:v1.UnhealthyPodEvictionPolicyType?
  PodDisruptionBudgetStatus conditions[type]+type currentHealthy%! desiredHealthy%! disruptionsAllowed%!
    expectedPods%!
io.k8s.api.rbac.v1
  ClusterRole rules!
  Role rules!
  RoleRef= apiGroup%!
  Subject=
io.k8s.api.resource.v1
  AllocatedDeviceStatus conditions![type] shareID?
  AllocationResult devices{}
  CapacityRequestPolicy default?!
  CapacityRequestPolicyRange min-
  CounterSet counters-
  Device allNodes? allowMultipleAllocations? bindsToNode? nodeName?
  DeviceAllocationConfiguration source:v1.AllocationConfigSource
  DeviceAttribute bool? int? string? version?
  DeviceClaim requests!
  DeviceClassSpec extendedResourceName?
  DeviceConstraint distinctAttribute:v1.FullyQualifiedName? matchAttribute:v1.FullyQualifiedName?
  DeviceCounterConsumption counters-
  DeviceRequestAllocationResult adminAccess? shareID:types.UID?
  DeviceSubRequest allocationMode:v1.DeviceAllocationMode
  DeviceTaint effect:v1.DeviceTaintEffect
  DeviceToleration effect:v1.DeviceTaintEffect operator:v1.DeviceTolerationOperator="Equal" tolerationSeconds?
  ExactDeviceRequest adminAccess? allocationMode:v1.DeviceAllocationMode
  NodeAllocatableResourceMapping capacityKey:v1.QualifiedName?
  ResourceClaim status{}
  ResourceClaimConsumerReference uid:types.UID
  ResourceClaimSpec devices{}
  ResourceClaimStatus devices[driver,device,pool,shareID] reservedFor[uid]+uid
  ResourceSliceSpec allNodes? nodeName? perDeviceNodeSelection?
io.k8s.api.scheduling.v1
  PriorityClass preemptionPolicy:v1.PreemptionPolicy? value%!
io.k8s.api.storage.v1
  StorageClass allowVolumeExpansion? reclaimPolicy:v1.PersistentVolumeReclaimPolicy?
    volumeBindingMode:v1.VolumeBindingMode?
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1
  CustomResourceConversion strategy:v1.ConversionStrategyType
  CustomResourceDefinition status{}
  CustomResourceDefinitionCondition lastTransitionTime{} status:v1.ConditionStatus
    type:v1.CustomResourceDefinitionConditionType
  CustomResourceDefinitionSpec scope:v1.ResourceScope
  CustomResourceDefinitionStatus acceptedNames{} conditions![type] storedVersions!
  CustomResourceDefinitionVersion deprecationWarning?
  CustomResourceSubresourceScale labelSelectorPath?
  JSONSchemaProps $ref? $schema:v1.JSONSchemaURL maxItems? maxLength? maxProperties? maximum? minItems? minLength?
    minProperties? minimum? multipleOf? x-kubernetes-list-type? x-kubernetes-map-type?
    x-kubernetes-preserve-unknown-fields? x-kubernetes-validations[rule]+rule
  ServiceReference path? port?
  ValidationRule optionalOldSelf? reason:v1.FieldValueErrorReason?
  WebhookClientConfig url?
io.k8s.apimachinery.pkg.apis.meta.v1
  Condition status:v1.ConditionStatus
  DeleteOptions gracePeriodSeconds? ignoreStoreReadErrorWithClusterBreakingPotential? orphanDependents?
    propagationPolicy:v1.DeletionPropagation?
  FieldSelectorRequirement operator:v1.FieldSelectorOperator
  LabelSelector=
  LabelSelectorRequirement operator:v1.LabelSelectorOperator
  ListMeta remainingItemCount?
  ManagedFieldsEntry operation:v1.ManagedFieldsOperationType
  ObjectMeta deletionGracePeriodSeconds? finalizers[=]+ ownerReferences[uid]+uid uid:types.UID
  OwnerReference= blockOwnerDeletion? controller? uid:types.UID
  Preconditions resourceVersion? uid:types.UID?
  Status reason:v1.StatusReason
  StatusCause reason:v1.CauseType
  StatusDetails uid:types.UID
"#;
