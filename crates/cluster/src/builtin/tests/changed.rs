//! Changes of pods, each followed by what a real server says of it.

/// The pods as they are.
pub const PODS: &str = r#"
{"kind":"Pod","apiVersion":"v1","metadata":{"name":"upd-u","namespace":"builtin","uid":"1","resourceVersion":"1","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z","labels":{"a":"b"}},"spec":{"initContainers":[{"name":"i","image":"x","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"Always"}],"containers":[{"name":"a","image":"b","ports":[{"containerPort":80,"protocol":"TCP"}],"env":[{"name":"A","value":"b"}],"resources":{"limits":{"memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"Always"}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"activeDeadlineSeconds":100,"dnsPolicy":"ClusterFirst","securityContext":{},"schedulerName":"default-scheduler","tolerations":[{"key":"x","operator":"Exists"},{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"},"status":{"phase":"Pending","qosClass":"Burstable"}}
{"kind":"Pod","apiVersion":"v1","metadata":{"name":"upd-g","namespace":"builtin","uid":"1","resourceVersion":"1","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"containers":[{"name":"a","image":"b","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"Always"}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","nodeSelector":{"a":"b"},"securityContext":{},"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"In","values":["b"]}]}]}}},"schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority","schedulingGates":[{"name":"g1"},{"name":"g2"}]},"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","lastProbeTime":null,"lastTransitionTime":"2026-01-01T00:00:00Z","reason":"SchedulingGated","message":"Scheduling is blocked due to non-empty scheduling gates"}],"qosClass":"BestEffort"}}
{"kind":"Pod","apiVersion":"v1","metadata":{"name":"upd-h","namespace":"builtin","uid":"1","resourceVersion":"1","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"containers":[{"name":"a","image":"b","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"Always"}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","securityContext":{},"schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority","schedulingGates":[{"name":"g1"}]},"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","lastProbeTime":null,"lastTransitionTime":"2026-01-01T00:00:00Z","reason":"SchedulingGated","message":"Scheduling is blocked due to non-empty scheduling gates"}],"qosClass":"BestEffort"}}
"#;

/// The pod, the subresource, the change as a merge patch and the generation that follows; on the next line the message, as JSON, empty if
/// the change is taken.
pub const CHANGED: &str = r#"
["upd-u","",{},1]
""
["upd-u","",{"metadata":{"labels":{"x":"y"}}},1]
""
["upd-u","",{"spec":{"activeDeadlineSeconds":50}},2]
""
["upd-u","",{"spec":{"activeDeadlineSeconds":500}},null]
"spec.activeDeadlineSeconds: Invalid value: 500: must be less than or equal to previous value"
["upd-u","",{"spec":{"activeDeadlineSeconds":null}},null]
"spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value"
["upd-u","",{"spec":{"activeDeadlineSeconds":-1}},null]
"[spec.activeDeadlineSeconds: Invalid value: -1: must be between 1 and 2147483647, inclusive, spec.activeDeadlineSeconds: Invalid value: -1: must be between 0 and 2147483647, inclusive]"
["upd-u","",{"spec":{"containers":[]}},null]
"[spec.containers: Required value, spec.containers: Forbidden: pod updates may not add or remove containers]"
["upd-u","",{"spec":{"hostname":"x"}},null]
"spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n@@ -115,7 +115,7 @@\n   \"SELinuxChangePolicy\": null\n  },\n  \"ImagePullSecrets\": null,\n- \"Hostname\": \"\",\n+ \"Hostname\": \"x\",\n  \"Subdomain\": \"\",\n  \"SetHostnameAsFQDN\": null,\n  \"Affinity\": null,\n"
["upd-u","",{"spec":{"nodeName":"x","priority":5}},null]
"spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n@@ -93,7 +93,7 @@\n  \"NodeSelector\": null,\n  \"ServiceAccountName\": \"\",\n  \"AutomountServiceAccountToken\": null,\n- \"NodeName\": \"\",\n+ \"NodeName\": \"x\",\n  \"SecurityContext\": {\n   \"HostNetwork\": false,\n   \"HostPID\": false,\n@@ -145,7 +145,7 @@\n  ],\n  \"HostAliases\": null,\n  \"PriorityClassName\": \"\",\n- \"Priority\": 0,\n+ \"Priority\": 5,\n  \"PreemptionPolicy\": \"PreemptLowerPriority\",\n  \"DNSConfig\": null,\n  \"ReadinessGates\": null,\n"
["upd-u","",{"spec":{"nodeSelector":{"a":"b"}}},null]
"spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n@@ -90,7 +90,9 @@\n  \"TerminationGracePeriodSeconds\": 30,\n  \"ActiveDeadlineSeconds\": 100,\n  \"DNSPolicy\": \"ClusterFirst\",\n- \"NodeSelector\": null,\n+ \"NodeSelector\": {\n+  \"a\": \"b\"\n+ },\n  \"ServiceAccountName\": \"\",\n  \"AutomountServiceAccountToken\": null,\n  \"NodeName\": \"\",\n"
["upd-u","",{"spec":{"restartPolicy":"Never","terminationGracePeriodSeconds":10}},null]
"spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n@@ -86,8 +86,8 @@\n   }\n  ],\n  \"EphemeralContainers\": null,\n- \"RestartPolicy\": \"Always\",\n- \"TerminationGracePeriodSeconds\": 30,\n+ \"RestartPolicy\": \"Never\",\n+ \"TerminationGracePeriodSeconds\": 10,\n  \"ActiveDeadlineSeconds\": 100,\n  \"DNSPolicy\": \"ClusterFirst\",\n  \"NodeSelector\": null,\n"
["upd-u","",{"spec":{"terminationGracePeriodSeconds":-10}},null]
"spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n@@ -87,7 +87,7 @@\n  ],\n  \"EphemeralContainers\": null,\n  \"RestartPolicy\": \"Always\",\n- \"TerminationGracePeriodSeconds\": 30,\n+ \"TerminationGracePeriodSeconds\": 1,\n  \"ActiveDeadlineSeconds\": 100,\n  \"DNSPolicy\": \"ClusterFirst\",\n  \"NodeSelector\": null,\n"
["upd-u","",{"spec":{"schedulingGates":[{"name":"x"}]}},null]
"spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'x'"
["upd-u","",{"spec":{"tolerations":[]}},null]
"spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"
["upd-u","",{"spec":{"tolerations":[{"key":"y","operator":"Exists"}]}},null]
"spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"
["upd-u","",{"spec":{"preemptionPolicy":null,"priority":null}},1]
""
["upd-u","",{"metadata":{"generation":77}},1]
""
["upd-u","",{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"u"}]}},1]
""
["upd-u","",{"status":{"phase":"Running"}},1]
""
["upd-u","",{"spec":{"containers":[{"name":"a","image":"new","ports":[{"containerPort":80,"protocol":"TCP"}],"env":[{"name":"A","value":"b"}],"resources":{"limits":{"memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"Always"}]}},2]
""
["upd-u","",{"spec":{"containers":[{"name":"a","image":"","ports":[{"containerPort":80,"protocol":"TCP"}],"env":[{"name":"A","value":"b"}],"resources":{"limits":{"memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"Always"}]}},null]
"spec.containers[0].image: Required value"
["upd-u","",{"spec":{"containers":[{"name":"a","image":" x","ports":[{"containerPort":80,"protocol":"TCP"}],"env":[{"name":"A","value":"b"}],"resources":{"limits":{"memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"Always"}]}},null]
"spec.containers[0].image: Invalid value: \" x\": must not have leading or trailing whitespace"
["upd-u","",{"spec":{"initContainers":[{"name":"i","image":"new","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"Always"}]}},2]
""
["upd-u","",{"spec":{"containers":[{"name":"a","image":"b","ports":[{"containerPort":80,"protocol":"TCP"}],"env":[{"name":"A","value":"b"}],"resources":{"limits":{"memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"Always"},{"name":"z","image":"y"}]}},null]
"spec.containers: Forbidden: pod updates may not add or remove containers"
["upd-u","",{"spec":{"containers":[{"name":"a","image":"b","ports":[{"containerPort":80,"protocol":"TCP"}],"env":[{"name":"A","value":"b"},{"name":"B","value":"c"}],"resources":{"limits":{"memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"Always"}]}},null]
"spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n@@ -54,6 +54,11 @@\n     {\n      \"Name\": \"A\",\n      \"Value\": \"b\",\n+     \"ValueFrom\": null\n+    },\n+    {\n+     \"Name\": \"B\",\n+     \"Value\": \"c\",\n      \"ValueFrom\": null\n     }\n    ],\n"
["upd-u","",{"spec":{"containers":[{"name":"a","image":"b","ports":[{"containerPort":80,"protocol":"TCP"}],"env":[{"name":"A","value":"b"}],"resources":{"limits":{"memory":"1Gi"},"requests":{"cpu":"2","memory":"1Gi"}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"Always"}]}},null]
"spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n@@ -62,7 +62,7 @@\n      \"memory\": \"1Gi\"\n     },\n     \"Requests\": {\n-     \"cpu\": \"1\",\n+     \"cpu\": \"2\",\n      \"memory\": \"1Gi\"\n     },\n     \"Claims\": null\n"
["upd-u","",{"spec":{"containers":[{"name":"a","image":"b","ports":[{"containerPort":80,"protocol":"TCP"}],"env":[{"name":"A","value":"b"}],"resources":{"limits":{"memory":"1Gi"},"requests":{"cpu":"1000m","memory":"1Gi"}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"Always"}]}},1]
""
["upd-u","",{"spec":{"tolerations":[{"key":"x","operator":"Exists"},{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"new","operator":"Exists"}]}},2]
""
["upd-u","",{"spec":{"tolerations":[{"key":"x","operator":"Exists","tolerationSeconds":5,"effect":"NoExecute"},{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]}},null]
"spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"
["upd-u","",{"spec":{"tolerations":[{"key":"x","operator":"Exists"},{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":5},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]}},2]
""
["upd-u","",{"spec":{"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]}},null]
"spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"
["upd-u","",{"spec":{"affinity":{"podAffinity":{}},"dnsPolicy":"Default"}},null]
"spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n@@ -89,7 +89,7 @@\n  \"RestartPolicy\": \"Always\",\n  \"TerminationGracePeriodSeconds\": 30,\n  \"ActiveDeadlineSeconds\": 100,\n- \"DNSPolicy\": \"ClusterFirst\",\n+ \"DNSPolicy\": \"Default\",\n  \"NodeSelector\": null,\n  \"ServiceAccountName\": \"\",\n  \"AutomountServiceAccountToken\": null,\n@@ -118,7 +118,14 @@\n  \"Hostname\": \"\",\n  \"Subdomain\": \"\",\n  \"SetHostnameAsFQDN\": null,\n- \"Affinity\": null,\n+ \"Affinity\": {\n+  \"NodeAffinity\": null,\n+  \"PodAffinity\": {\n+   \"RequiredDuringSchedulingIgnoredDuringExecution\": null,\n+   \"PreferredDuringSchedulingIgnoredDuringExecution\": null\n+  },\n+  \"PodAntiAffinity\": null\n+ },\n  \"SchedulerName\": \"default-scheduler\",\n  \"Tolerations\": [\n   {\n"
["upd-u","",{"spec":{"volumes":[{"name":"v"}]}},null]
"spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n@@ -1,5 +1,42 @@\n {\n- \"Volumes\": null,\n+ \"Volumes\": [\n+  {\n+   \"Name\": \"v\",\n+   \"HostPath\": null,\n+   \"EmptyDir\": {\n+    \"Medium\": \"\",\n+    \"SizeLimit\": null\n+   },\n+   \"GCEPersistentDisk\": null,\n+   \"AWSElasticBlockStore\": null,\n+   \"GitRepo\": null,\n+   \"Secret\": null,\n+   \"NFS\": null,\n+   \"ISCSI\": null,\n+   \"Glusterfs\": null,\n+   \"PersistentVolumeClaim\": null,\n+   \"RBD\": null,\n+   \"Quobyte\": null,\n+   \"FlexVolume\": null,\n+   \"Cinder\": null,\n+   \"CephFS\": null,\n+   \"Flocker\": null,\n+   \"DownwardAPI\": null,\n+   \"FC\": null,\n+   \"AzureFile\": null,\n+   \"ConfigMap\": null,\n+   \"VsphereVolume\": null,\n+   \"AzureDisk\": null,\n+   \"PhotonPersistentDisk\": null,\n+   \"Projected\": null,\n+   \"PortworxVolume\": null,\n+   \"ScaleIO\": null,\n+   \"StorageOS\": null,\n+   \"CSI\": null,\n+   \"Ephemeral\": null,\n+   \"Image\": null\n+  }\n+ ],\n  \"InitContainers\": [\n   {\n    \"Name\": \"i\",\n"
["upd-g","",{"spec":{"schedulingGates":[{"name":"g1"}]}},2]
""
["upd-g","",{"spec":{"schedulingGates":[]}},2]
""
["upd-g","",{"spec":{"schedulingGates":[{"name":"g1"},{"name":"g3"}]}},null]
"spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'g3'"
["upd-g","",{"spec":{"nodeSelector":{"c":"d"}}},2]
""
["upd-g","",{"spec":{"nodeSelector":{"a":null}}},null]
"spec.nodeSelector: Invalid value: {}: only additions to spec.nodeSelector are allowed (no mutations or deletions)"
["upd-g","",{"spec":{"nodeSelector":{"a":"x"}}},null]
"spec.nodeSelector: Invalid value: {\"a\":\"x\"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)"
["upd-g","",{"spec":{"affinity":null}},null]
"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Invalid value: null: no additions/deletions to non-empty NodeSelectorTerms list are allowed"
["upd-g","",{"spec":{"nodeName":"n"}},null]
"spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n@@ -44,7 +44,7 @@\n  },\n  \"ServiceAccountName\": \"\",\n  \"AutomountServiceAccountToken\": null,\n- \"NodeName\": \"\",\n+ \"NodeName\": \"n\",\n  \"SecurityContext\": {\n   \"HostNetwork\": false,\n   \"HostPID\": false,\n"
["upd-g","",{"spec":{"hostname":"n"}},null]
"spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n@@ -66,7 +66,7 @@\n   \"SELinuxChangePolicy\": null\n  },\n  \"ImagePullSecrets\": null,\n- \"Hostname\": \"\",\n+ \"Hostname\": \"n\",\n  \"Subdomain\": \"\",\n  \"SetHostnameAsFQDN\": null,\n  \"Affinity\": {\n"
["upd-g","",{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"In","values":["b"]}]},{}]}}}}},null]
"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Invalid value: [{\"MatchExpressions\":[{\"Key\":\"a\",\"Operator\":\"In\",\"Values\":[\"b\"]}],\"MatchFields\":null},{\"MatchExpressions\":null,\"MatchFields\":null}]: no additions/deletions to non-empty NodeSelectorTerms list are allowed"
["upd-g","",{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"In","values":["b"]},{"key":"z","operator":"Exists"}]}]}}}}},2]
""
["upd-g","",{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"z","operator":"Exists"}]}]}}}}},null]
"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]: Invalid value: {\"MatchExpressions\":[{\"Key\":\"z\",\"Operator\":\"Exists\",\"Values\":null}],\"MatchFields\":null}: only additions are allowed (no mutations or deletions)"
["upd-g","",{"spec":{"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"x","labelSelector":{}}]}}}},null]
"spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n@@ -89,7 +89,19 @@\n    },\n    \"PreferredDuringSchedulingIgnoredDuringExecution\": null\n   },\n-  \"PodAffinity\": null,\n+  \"PodAffinity\": {\n+   \"RequiredDuringSchedulingIgnoredDuringExecution\": [\n+    {\n+     \"LabelSelector\": {},\n+     \"Namespaces\": null,\n+     \"TopologyKey\": \"x\",\n+     \"NamespaceSelector\": null,\n+     \"MatchLabelKeys\": null,\n+     \"MismatchLabelKeys\": null\n+    }\n+   ],\n+   \"PreferredDuringSchedulingIgnoredDuringExecution\": null\n+  },\n   \"PodAntiAffinity\": null\n  },\n  \"SchedulerName\": \"default-scheduler\",\n"
["upd-g","",{"spec":{"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"preference":{"matchExpressions":[{"key":"z","operator":"Exists"}]}}]}}}},2]
""
["upd-h","",{"spec":{"nodeSelector":{"c":"d"}}},2]
""
["upd-h","",{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"z","operator":"Exists"}]}]}}}}},2]
""
["upd-h","",{"spec":{"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"x","labelSelector":{}}]}}}},null]
"spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n@@ -67,7 +67,23 @@\n  \"Hostname\": \"\",\n  \"Subdomain\": \"\",\n  \"SetHostnameAsFQDN\": null,\n- \"Affinity\": null,\n+ \"Affinity\": {\n+  \"NodeAffinity\": null,\n+  \"PodAffinity\": {\n+   \"RequiredDuringSchedulingIgnoredDuringExecution\": [\n+    {\n+     \"LabelSelector\": {},\n+     \"Namespaces\": null,\n+     \"TopologyKey\": \"x\",\n+     \"NamespaceSelector\": null,\n+     \"MatchLabelKeys\": null,\n+     \"MismatchLabelKeys\": null\n+    }\n+   ],\n+   \"PreferredDuringSchedulingIgnoredDuringExecution\": null\n+  },\n+  \"PodAntiAffinity\": null\n+ },\n  \"SchedulerName\": \"default-scheduler\",\n  \"Tolerations\": [\n   {\n"
["upd-u","status",{"status":{"hostIP":"1.1.1.1","phase":"Running","podIP":"1.2.3.4"}},1]
""
["upd-u","status",{"status":{"podIPs":[{"ip":"1.2.3.4"}]}},1]
""
["upd-u","status",{"status":{"qosClass":"Guaranteed"}},null]
"status.qosClass: Invalid value: \"Guaranteed\": field is immutable"
["upd-u","status",{"status":{"conditions":[{"type":"a b","status":"True"}]}},null]
"status.conditions[0].Type: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
["upd-u","status",{"status":{"conditions":[{"type":"Ready","status":"True","observedGeneration":1}]}},1]
""
["upd-u","status",{"spec":{"hostname":"x"}},1]
""
["upd-u","status",{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"u"}],"labels":{"n":"m"}}},1]
""
["upd-u","status",{"status":{"nominatedNodeName":"N"}},null]
"status.nominatedNodeName: Invalid value: \"N\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
["upd-u","status",{"status":{"nominatedNodeName":"n"}},1]
""
["upd-u","status",{"status":null},1]
""
["upd-u","status",{"status":{"phase":"Bogus"}},1]
""
["upd-u","status",{"status":{"podIP":"x"}},null]
"status.podIPs[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
["upd-u","status",{"metadata":{"finalizers":["a.b/c"]}},1]
""
["upd-u","status",{"status":{"containerStatuses":[{"name":"a","ready":true,"state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}},"image":"x","imageID":"","restartCount":0}]}},1]
""
"#;
