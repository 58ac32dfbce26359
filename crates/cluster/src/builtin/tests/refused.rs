//! Objects that a real server refuses, each followed by what it says.

/// An object a line, and on the next line the message.
pub const REFUSED: &str = r#"
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[]}}
Pod "x" is invalid: spec.containers: Required value
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{}]}}
Pod "x" is invalid: [spec.containers[0].name: Required value, spec.containers[0].image: Required value]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"A_"}]}}
Pod "x" is invalid: [spec.containers[0].name: Invalid value: "A_": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?'), spec.containers[0].image: Required value]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"},{"name":"a","image":"b"}]}}
Pod "x" is invalid: spec.containers[1].name: Duplicate value: "a"
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a.b","image":"x"}]}}
Pod "x" is invalid: spec.containers[0].name: Invalid value: "a.b": must not contain dots
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":" b"}]}}
Pod "x" is invalid: spec.containers[0].image: Invalid value: " b": must not have leading or trailing whitespace
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","imagePullPolicy":"X"}]}}
Pod "x" is invalid: spec.containers[0].imagePullPolicy: Unsupported value: "X": supported values: "Always", "IfNotPresent", "Never"
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","terminationMessagePolicy":"X"}]}}
Pod "x" is invalid: spec.containers[0].terminationMessagePolicy: Unsupported value: "X": supported values: "File", "FallbackToLogsOnError"
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","ports":[{}]}]}}
Pod "x" is invalid: spec.containers[0].ports[0].containerPort: Required value
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","ports":[{"containerPort":0}]}]}}
Pod "x" is invalid: spec.containers[0].ports[0].containerPort: Required value
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","ports":[{"containerPort":70000,"hostPort":-1,"protocol":"x","name":"UP"}]}]}}
Pod "x" is invalid: [spec.containers[0].ports[0].name: Invalid value: "UP": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-), spec.containers[0].ports[0].name: Invalid value: "UP": must contain at least one letter (a-z), spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive, spec.containers[0].ports[0].hostPort: Invalid value: -1: must be between 1 and 65535, inclusive, spec.containers[0].ports[0].protocol: Unsupported value: "x": supported values: "SCTP", "TCP", "UDP"]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","ports":[{"containerPort":1,"name":"a"},{"containerPort":2,"name":"a"}]}]}}
Pod "x" is invalid: spec.containers[0].ports[1].name: Duplicate value: "a"
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","ports":[{"containerPort":1,"hostPort":5},{"containerPort":2,"hostPort":5}]}]}}
Pod "x" is invalid: spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//5"
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","ports":[{"containerPort":1,"name":"-a--b-aaaaaaaaaaaaaaaa"}]}]}}
Pod "x" is invalid: [spec.containers[0].ports[0].name: Invalid value: "-a--b-aaaaaaaaaaaaaaaa": must be no more than 15 characters, spec.containers[0].ports[0].name: Invalid value: "-a--b-aaaaaaaaaaaaaaaa": must not contain consecutive hyphens, spec.containers[0].ports[0].name: Invalid value: "-a--b-aaaaaaaaaaaaaaaa": must not begin or end with a hyphen]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","ports":[{"containerPort":1,"name":"123"}]}]}}
Pod "x" is invalid: spec.containers[0].ports[0].name: Invalid value: "123": must contain at least one letter (a-z)
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","env":[{"name":""}]}]}}
Pod "x" is invalid: spec.containers[0].env[0].name: Required value
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","env":[{"name":"a=b"}]}]}}
Pod "x" is invalid: spec.containers[0].env[0].name: Invalid value: "a=b": a valid environment variable name must consist only of printable ASCII characters other than '='
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","env":[{"name":"A","valueFrom":{}}]}]}}
Pod "x" is invalid: spec.containers[0].env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","env":[{"name":"A","value":"x","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]}]}}
Pod "x" is invalid: spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"spec.foo"}}}]}]}}
Pod "x" is invalid: spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.foo": error converting fieldPath: field label not supported: spec.foo
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":""}}}]}]}}
Pod "x" is invalid: spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Required value
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","env":[{"name":"A","valueFrom":{"resourceFieldRef":{"resource":"x"}}}]}]}}
Pod "x" is invalid: spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "x": supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","envFrom":[{}]}]}}
Pod "x" is invalid: spec.containers[0].envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","envFrom":[{"configMapRef":{},"secretRef":{"name":"x"}}]}]}}
Pod "x" is invalid: [spec.containers[0].envFrom[0].configMapRef.name: Required value, spec.containers[0].envFrom: Invalid value: "": may not have more than one field specified at a time]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","envFrom":[{"prefix":"a=","configMapRef":{"name":"x"}}]}]}}
Pod "x" is invalid: spec.containers[0].envFrom[0].prefix: Invalid value: "a=": a valid environment variable name must consist only of printable ASCII characters other than '='
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","volumeMounts":[{"name":"x","mountPath":"/a"}]}]}}
Pod "x" is invalid: spec.containers[0].volumeMounts[0].name: Not found: "x"
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","volumeMounts":[{"name":"","mountPath":""}]}]}}
Pod "x" is invalid: [spec.containers[0].volumeMounts[0].name: Required value, spec.containers[0].volumeMounts[0].name: Not found: "", spec.containers[0].volumeMounts[0].mountPath: Required value]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","volumeMounts":[{"name":"v","mountPath":"/a"},{"name":"v","mountPath":"/a","subPath":"/x/../y"},{"name":"v","mountPath":"/b","subPath":"a","subPathExpr":"b"}]}],"volumes":[{"name":"v"}]}}
Pod "x" is invalid: [spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/a": must be unique, spec.containers[0].volumeMounts.subPath: Invalid value: "/x/../y": must be a relative path, spec.containers[0].volumeMounts.subPath: Invalid value: "/x/../y": must not contain '..', spec.containers[0].volumeMounts[2].subPathExpr: Invalid value: "b": subPathExpr and subPath are mutually exclusive]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","resources":{"requests":{"cpu":"2"},"limits":{"cpu":"1"}}}]}}
Pod "x" is invalid: spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","resources":{"requests":{"cpu":"-1"}}}]}}
Pod "x" is invalid: spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","resources":{"requests":{"foo":"1"}}}]}}
Pod "x" is invalid: [spec.containers[0].resources.requests[foo]: Invalid value: "foo": must be a standard resource type or fully qualified, spec.containers[0].resources.requests[foo]: Invalid value: "foo": must be a standard resource for containers]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","resources":{"requests":{"nvidia.com/gpu":"1"}}}]}}
Pod "x" is invalid: spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","resources":{"requests":{"nvidia.com/gpu":"1"},"limits":{"nvidia.com/gpu":"2"}}}]}}
Pod "x" is invalid: spec.containers[0].resources.requests: Invalid value: "1": must be equal to nvidia.com/gpu limit of 2
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","resources":{"limits":{"nvidia.com/gpu":"500m"}}}]}}
Pod "x" is invalid: [spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: "500m": must be an integer, spec.containers[0].resources.requests[nvidia.com/gpu]: Invalid value: "500m": must be an integer]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","resources":{"limits":{"hugepages-2Mi":"2Mi"}}}]}}
Pod "x" is invalid: spec.containers[0].resources: Forbidden: HugePages require cpu or memory
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","resources":{"claims":[{"name":"x"}]}}]}}
Pod "x" is invalid: spec.containers[0].resources.claims[0]: Not found: "x": must be one of the names in pod.spec.resourceClaims which is empty
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","resources":{"limits":{"pods":"1"}}}]}}
Pod "x" is invalid: [spec.containers[0].resources.limits[pods]: Invalid value: "pods": must be a standard resource for containers, spec.containers[0].resources.requests[pods]: Invalid value: "pods": must be a standard resource for containers]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","resources":{"limits":{"requests.x/y":"1"}}}]}}
Pod "x" is invalid: [spec.containers[0].resources.limits[requests.x/y]: Invalid value: "requests.x/y": doesn't follow extended resource name standard, spec.containers[0].resources.requests[requests.x/y]: Invalid value: "requests.x/y": doesn't follow extended resource name standard]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"volumes":[{"name":"A"}]}}
Pod "x" is invalid: spec.volumes[0].name: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"volumes":[{"name":"a"},{"name":"a"}]}}
Pod "x" is invalid: spec.volumes[1].name: Duplicate value: "a"
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"volumes":[{"name":""}]}}
Pod "x" is invalid: spec.volumes[0].name: Required value
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"volumes":[{"name":"a","emptyDir":{},"hostPath":{"path":"/x"}}]}}
Pod "x" is invalid: spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"volumes":[{"name":"a","hostPath":{"path":""}}]}}
Pod "x" is invalid: spec.volumes[0].hostPath.path: Required value
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"volumes":[{"name":"a","hostPath":{"path":"/a/../b","type":"x"}}]}}
Pod "x" is invalid: [spec.volumes[0].hostPath.path: Invalid value: "/a/../b": must not contain '..', spec.volumes[0].hostPath.type: Unsupported value: "x": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"volumes":[{"name":"a","secret":{"defaultMode":1000}}]}}
Pod "x" is invalid: [spec.volumes[0].secret.secretName: Required value, spec.volumes[0].secret.defaultMode: Invalid value: 1000: must be a number between 0 and 0777 (octal), both inclusive]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"volumes":[{"name":"a","configMap":{"items":[{"key":"","path":"/../x","mode":-1}]}}]}}
Pod "x" is invalid: [spec.volumes[0].configMap.name: Required value, spec.volumes[0].configMap.items[0].key: Required value, spec.volumes[0].configMap.items[0].path: Invalid value: "/../x": must be a relative path, spec.volumes[0].configMap.items[0].path: Invalid value: "/../x": must not contain '..', spec.volumes[0].configMap.items[0].mode: Invalid value: -1: must be a number between 0 and 0777 (octal), both inclusive]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"volumes":[{"name":"a","persistentVolumeClaim":{}}]}}
Pod "x" is invalid: spec.volumes[0].persistentVolumeClaim.claimName: Required value
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"volumes":[{"name":"a","emptyDir":{"sizeLimit":"-1"}}]}}
Pod "x" is invalid: spec.volumes[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"volumes":[{"name":"a","projected":{"sources":[{"serviceAccountToken":{"path":"","expirationSeconds":5}},{"secret":{}}]}}],"serviceAccountName":"x"}}
Pod "x" is invalid: [spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes, spec.volumes[0].projected.path: Required value, spec.volumes[0].projected.sources[1].secret.name: Required value]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"volumes":[{"name":"a","projected":{"sources":[{"serviceAccountToken":{"path":"x"}}]}}]}}
Pod "x" is invalid: spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"volumes":[{"name":"a","nfs":{}}]}}
Pod "x" is invalid: [spec.volumes[0].nfs.server: Required value, spec.volumes[0].nfs.path: Required value, spec.volumes[0].nfs.path: Invalid value: "": must be an absolute path]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"volumes":[{"name":"a","csi":{}}]}}
Pod "x" is invalid: spec.volumes[0].csi.driver: Required value
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"volumes":[{"name":"a","image":{}}]}}
Pod "x" is invalid: spec.volumes[0].image.reference: Required value
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"volumes":[{"name":"a","ephemeral":{}}]}}
Pod "x" is invalid: spec.volumes[0].ephemeral.volumeClaimTemplate: Required value
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"volumes":[{"name":"a","downwardAPI":{"items":[{"path":""}]}}]}}
Pod "x" is invalid: [spec.volumes[0].downwardAPI.path: Required value, spec.volumes[0].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"resourceClaims":[{"name":"a"}]}}
Pod "x" is invalid: spec.resourceClaims[0]: Invalid value: {"Name":"a","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"resourceClaims":[{"name":"a","resourceClaimName":"x","resourceClaimTemplateName":"y"}]}}
Pod "x" is invalid: spec.resourceClaims[0]: Invalid value: {"Name":"a","ResourceClaimName":"x","ResourceClaimTemplateName":"y"}: at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"resourceClaims":[{"name":"a","resourceClaimName":"X"},{"name":"a","resourceClaimName":"x"}]}}
Pod "x" is invalid: [spec.resourceClaims[0].resourceClaimName: Invalid value: "X": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'), spec.resourceClaims[1].name: Duplicate value: "a"]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"initContainers":[{"name":"a","image":"b"}]}}
Pod "x" is invalid: spec.initContainers[0].name: Duplicate value: "a"
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"initContainers":[{"name":"i","image":"b","livenessProbe":{"exec":{"command":["x"]}}}]}}
Pod "x" is invalid: spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"initContainers":[{"name":"i","image":"b","lifecycle":{}}]}}
Pod "x" is invalid: spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"initContainers":[{"name":"i","image":"b","restartPolicy":"X"}]}}
Pod "x" is invalid: spec.initContainers[0].restartPolicy: Unsupported value: "X": supported values: "Always", "Never", "OnFailure"
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"initContainers":[{"name":"i","image":"b","restartPolicy":"Always","readinessProbe":{}}]}}
Pod "x" is invalid: spec.initContainers[0].readinessProbe: Required value: must specify a handler type
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","restartPolicy":"Foo"}]}}
Pod "x" is invalid: spec.containers[0].restartPolicy: Unsupported value: "Foo": supported values: "Always", "Never", "OnFailure"
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","livenessProbe":{}}]}}
Pod "x" is invalid: spec.containers[0].livenessProbe: Required value: must specify a handler type
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","livenessProbe":{"exec":{}}}]}}
Pod "x" is invalid: spec.containers[0].livenessProbe.exec.command: Required value
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","livenessProbe":{"exec":{"command":["x"]},"successThreshold":2,"initialDelaySeconds":-1}}]}}
Pod "x" is invalid: [spec.containers[0].livenessProbe.initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0, spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","readinessProbe":{"httpGet":{"port":0,"scheme":"x"},"tcpSocket":{"port":"UP"},"terminationGracePeriodSeconds":5}}]}}
Pod "x" is invalid: [spec.containers[0].readinessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive, spec.containers[0].readinessProbe.httpGet.scheme: Unsupported value: "x": supported values: "HTTP", "HTTPS", spec.containers[0].readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type, spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","startupProbe":{"grpc":{"port":0}}}]}}
Pod "x" is invalid: spec.containers[0].startupProbe.grpc.port: Invalid value: 0: must be between 1 and 65535, inclusive
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","lifecycle":{"preStop":{"sleep":{"seconds":60}},"postStart":{}}}]}}
Pod "x" is invalid: [spec.containers[0].lifecycle.postStart: Required value: must specify a handler type, spec.containers[0].lifecycle.preStop.sleep: Invalid value: 60: must be non-negative and less than terminationGracePeriodSeconds (30)]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"restartPolicy":"x"}}
Pod "x" is invalid: spec.restartPolicy: Unsupported value: "x": supported values: "Always", "OnFailure", "Never"
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"dnsPolicy":"x"}}
Pod "x" is invalid: spec.dnsPolicy: Unsupported value: "x": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"dnsPolicy":"None"}}
Pod "x" is invalid: spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"dnsPolicy":"None","dnsConfig":{}}}
Pod "x" is invalid: spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"nodeSelector":{"a b":"c d"}}}
Pod "x" is invalid: [spec.nodeSelector: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), spec.nodeSelector: Invalid value: "c d": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"serviceAccountName":"A"}}
Pod "x" is invalid: spec.serviceAccountName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"nodeName":"A"}}
Pod "x" is invalid: spec.nodeName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"activeDeadlineSeconds":0}}
Pod "x" is invalid: spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"hostname":"A"}}
Pod "x" is invalid: spec.hostname: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"hostname":"a.b"}}
Pod "x" is invalid: spec.hostname: Invalid value: "a.b": must not contain dots
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"subdomain":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}}
Pod "x" is invalid: spec.subdomain: Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": must be no more than 63 characters
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"os":{"name":"x"}}}
Pod "x" is invalid: spec.os: Unsupported value: "x": supported values: "linux", "windows"
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"schedulingGates":[{"name":"a b"},{"name":"x"},{"name":"x"}]}}
Pod "x" is invalid: [spec.schedulingGates[0]: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), spec.schedulingGates[2]: Duplicate value: "x"]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"schedulingGates":[{"name":"x"}],"nodeName":"n"}}
Pod "x" is invalid: spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"ephemeralContainers":[{"name":"e","image":"x"}]}}
Pod "x" is invalid: spec.ephemeralContainers: Forbidden: cannot be set on create
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"tolerations":[{}]}}
Pod "x" is invalid: spec.tolerations[0].operator: Invalid value: "": operator must be Exists when `key` is empty, which means "match all values and all keys"
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"tolerations":[{"key":"a b","operator":"Exists","value":"x"}]}}
Pod "x" is invalid: [spec.tolerations[0].key: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), spec.tolerations[0].operator: Invalid value: "x": value must be empty when `operator` is 'Exists']
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"tolerations":[{"key":"a","operator":"x","effect":"y"}]}}
Pod "x" is invalid: [spec.tolerations[0].operator: Unsupported value: "x": supported values: "Equal", "Exists", spec.tolerations[0].effect: Unsupported value: "y": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"tolerations":[{"key":"a","tolerationSeconds":5}]}}
Pod "x" is invalid: spec.tolerations[0].effect: Invalid value: "": effect must be 'NoExecute' when `tolerationSeconds` is set
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"tolerations":[{"key":"a","value":"b c"}]}}
Pod "x" is invalid: spec.tolerations[0].operator: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"tolerations":[{"key":"a","operator":"Lt","value":"5"}]}}
Pod "x" is invalid: spec.tolerations[0].operator: Unsupported value: "Lt": supported values: "Equal", "Exists", "Lt", "Gt"
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"topologySpreadConstraints":[{}]}}
Pod "x" is invalid: [spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero, spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty, spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "": supported values: "DoNotSchedule", "ScheduleAnyway"]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"},{"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"}]}}
Pod "x" is invalid: spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{a, DoNotSchedule}"
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"ScheduleAnyway","minDomains":0,"nodeTaintsPolicy":"x","matchLabelKeys":["a"]}]}}
Pod "x" is invalid: [spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than zero, spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway, spec.topologySpreadConstraints[0].nodeTaintsPolicy: Unsupported value: "x": supported values: "Honor", "Ignore", spec.topologySpreadConstraints[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[]}}}}}
Pod "x" is invalid: spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"x","matchLabelKeys":["a"]}]}}}}
Pod "x" is invalid: spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","ports":[{"containerPort":1,"hostPort":2}]}],"hostNetwork":true}}
Pod "x" is invalid: spec.containers[0].ports[0].hostPort: Invalid value: 2: must match `containerPort` when `hostNetwork` is true
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"readinessGates":[{"conditionType":"a b"}]}}
Pod "x" is invalid: spec.readinessGates[0].conditionType: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"hostAliases":[{"ip":"x","hostnames":["A"]}]}}
Pod "x" is invalid: [spec.hostAliases[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff), spec.hostAliases[0].hostnames[0]: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"securityContext":{"runAsUser":-1,"fsGroup":-1}}}
Pod "x" is invalid: [spec.securityContext.fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive, spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","securityContext":{"runAsUser":-1,"privileged":true,"allowPrivilegeEscalation":false}}]}}
Pod "x" is invalid: [spec.containers[0].securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive, spec.containers[0].securityContext: Invalid value: {"Capabilities":null,"Privileged":true,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":-1,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true]
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"shareProcessNamespace":true,"hostPID":true}}
Pod "x" is invalid: spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"resources":{"limits":{"foo":"1"},"requests":{"cpu":"1"}}}}
Pod "x" is invalid: spec.resources.limits[foo]: Invalid value: "foo": must be a standard resource type or fully qualified
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b","resources":{"requests":{"cpu":"2"}}}],"resources":{"requests":{"cpu":"1"}}}}
Pod "x" is invalid: spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 2
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"resources":{"requests":{"cpu":"3"},"limits":{"cpu":"1"}}}}
Pod "x" is invalid: spec.resources.requests: Invalid value: "3": must be less than or equal to cpu limit of 1
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"b"}],"overhead":{"cpu":"-1"}}}
Pod "x" is invalid: spec.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"b"},"binaryData":{"a":"YQ=="}}
ConfigMap "x" is invalid: data[a]: Invalid value: "a": duplicate of key present in binaryData
{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"},"data":{"a b":"YQ=="}}
Secret "x" is invalid: data[a b]: Invalid value: "a b": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')
{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"},"type":"kubernetes.io/tls"}
Secret "x" is invalid: [data[tls.crt]: Required value, data[tls.key]: Required value]
{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"},"type":"kubernetes.io/basic-auth"}
Secret "x" is invalid: [data[username]: Required value, data[password]: Required value]
{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"},"type":"kubernetes.io/ssh-auth"}
Secret "x" is invalid: data[ssh-privatekey]: Required value
{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"},"type":"kubernetes.io/dockerconfigjson"}
Secret "x" is invalid: data[.dockerconfigjson]: Required value
{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"},"type":"kubernetes.io/service-account-token"}
Secret "x" is invalid: metadata.annotations[kubernetes.io/service-account.name]: Required value
{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{}}
Service "x" is invalid: spec.ports: Required value
{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"ports":[{}]}}
Service "x" is invalid: [spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive, spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive]
{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"ports":[{"port":80},{"port":81}]}}
Service "x" is invalid: [spec.ports[0].name: Required value, spec.ports[1].name: Required value]
{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"ports":[{"port":80,"name":"a"},{"port":80,"name":"b"}]}}
Service "x" is invalid: spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}
{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"ports":[{"port":80,"name":"A"},{"port":81,"name":"A"}]}}
Service "x" is invalid: [spec.ports[0].name: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?'), spec.ports[1].name: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?'), spec.ports[1].name: Duplicate value: "A"]
{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"ports":[{"port":0,"protocol":"x","targetPort":"UP"}]}}
Service "x" is invalid: [spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive, spec.ports[0].protocol: Unsupported value: "x": supported values: "SCTP", "TCP", "UDP", spec.ports[0].targetPort: Invalid value: "UP": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-), spec.ports[0].targetPort: Invalid value: "UP": must contain at least one letter (a-z)]
{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"type":"X","ports":[{"port":80}]}}
Service "x" is invalid: spec.type: Unsupported value: "X": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"
{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"type":"ExternalName"}}
Service "x" is invalid: spec.externalName: Required value
{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"type":"ExternalName","externalName":"A_"}}
Service "x" is invalid: spec.externalName: Invalid value: "A_": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"type":"NodePort","clusterIP":"None","ports":[{"port":80}]}}
Service "x" is invalid: spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for NodePort services
{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"type":"LoadBalancer","clusterIP":"None","ports":[{"port":80}]}}
Service "x" is invalid: spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for LoadBalancer services
{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"sessionAffinity":"X","ports":[{"port":80}]}}
Service "x" is invalid: spec.sessionAffinity: Unsupported value: "X": supported values: "ClientIP", "None"
{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":0}},"ports":[{"port":80}]}}
Service "x" is invalid: spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less than 86400
{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"selector":{"a b":"c"},"ports":[{"port":80}]}}
Service "x" is invalid: spec.selector: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"ports":[{"port":80,"nodePort":30001}]}}
Service "x" is invalid: spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'
{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"clusterIP":"x","ports":[{"port":80}]}}
Service "x" is invalid: spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)
{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"ports":[{"port":80,"appProtocol":"a b"}]}}
Service "x" is invalid: spec.ports[0].appProtocol: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"type":"ExternalName","externalName":"a.b","clusterIP":"None"}}
Service "x" is invalid: spec.clusterIPs: Forbidden: may not be set for ExternalName services
{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"x"},"spec":{"minAvailable":1,"maxUnavailable":1}}
PodDisruptionBudget.policy "x" is invalid: spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":1,"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set
{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"x"},"spec":{"minAvailable":-1}}
PodDisruptionBudget.policy "x" is invalid: spec.minAvailable: Invalid value: -1: must be greater than or equal to 0
{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"x"},"spec":{"minAvailable":"x"}}
PodDisruptionBudget.policy "x" is invalid: spec.minAvailable: Invalid value: "x": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')
{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"x"},"spec":{"maxUnavailable":"150%"}}
PodDisruptionBudget.policy "x" is invalid: spec.maxUnavailable: Invalid value: "150%": must not be greater than 100%
{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"x"},"spec":{"unhealthyPodEvictionPolicy":"x"}}
PodDisruptionBudget.policy "x" is invalid: spec.unhealthyPodEvictionPolicy: Unsupported value: "x": supported values: "AlwaysAllow", "IfHealthyBudget"
{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"x"},"spec":{"selector":{"matchLabels":{"a b":"c"}}}}
PodDisruptionBudget.policy "x" is invalid: spec.selector.matchLabels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"x"},"value":2000000000}
PriorityClass.scheduling.k8s.io "x" is invalid: value: Forbidden: maximum allowed value of a user defined priority is 1000000000
{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"x"},"preemptionPolicy":"x"}
PriorityClass.scheduling.k8s.io "x" is invalid: preemptionPolicy: Unsupported value: "x": supported values: "PreemptLowerPriority", "Never"
{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"system-node-critical"},"value":5}
PriorityClass.scheduling.k8s.io "system-node-critical" is invalid: metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: value of system-node-critical PriorityClass must be 2000001000
{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"x"},"spec":{"maxReplicas":0,"scaleTargetRef":{"kind":"X","name":"y","apiVersion":"a/v1"}}}
HorizontalPodAutoscaler.autoscaling "x" is invalid: [spec.maxReplicas: Required value: must be set and greater than 0, spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`]
{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"x"},"spec":{"maxReplicas":-1,"scaleTargetRef":{"kind":"X","name":"y","apiVersion":"a/v1"}}}
HorizontalPodAutoscaler.autoscaling "x" is invalid: [spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1, spec.maxReplicas: Invalid value: -1: must be greater than or equal to `minReplicas`]
{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"x"},"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"X","name":"y","apiVersion":"a/v1"},"minReplicas":0}}
HorizontalPodAutoscaler.autoscaling "x" is invalid: [spec.minReplicas: Invalid value: 0: must be greater than or equal to 1, spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas]
{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"x"},"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"X","name":"y","apiVersion":"a/v1"},"minReplicas":5}}
HorizontalPodAutoscaler.autoscaling "x" is invalid: spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`
{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"x"},"spec":{"maxReplicas":3,"scaleTargetRef":{}}}
HorizontalPodAutoscaler.autoscaling "x" is invalid: [spec.scaleTargetRef.kind: Required value, spec.scaleTargetRef.name: Required value, spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group]
{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"x"},"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"X","name":"y","apiVersion":"a/v1"},"metrics":[{"type":"X"}]}}
HorizontalPodAutoscaler.autoscaling "x" is invalid: spec.metrics[0].type: Unsupported value: "X": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"
{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"x"},"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"X","name":"y","apiVersion":"a/v1"},"metrics":[{"type":"Pods"}]}}
HorizontalPodAutoscaler.autoscaling "x" is invalid: spec.metrics[0].pods: Required value: must populate information for the given metric source
{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"x"},"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"X","name":"y","apiVersion":"a/v1"},"metrics":[{}]}}
HorizontalPodAutoscaler.autoscaling "x" is invalid: [spec.metrics[0].type: Required value: must specify a metric source type, spec.metrics[0].type: Unsupported value: "": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"]
{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"x"},"spec":{"leaseDurationSeconds":0,"leaseTransitions":-1,"preferredHolder":"x"}}
Lease.coordination.k8s.io "x" is invalid: [spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0, spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0]
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"x"},"rules":[{}]}
Role.rbac.authorization.k8s.io "x" is invalid: [rules[0].verbs: Required value: verbs must contain at least one value, rules[0].apiGroups: Required value: resource rules must supply at least one api group, rules[0].resources: Required value: resource rules must supply at least one resource]
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"x"},"rules":[{"verbs":["get"],"nonResourceURLs":["/x"],"resources":["x"]}]}
Role.rbac.authorization.k8s.io "x" is invalid: [rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs, rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs]
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"x"},"rules":[{"verbs":[],"nonResourceURLs":["/x"]}]}
ClusterRole.rbac.authorization.k8s.io "x" is invalid: rules[0].verbs: Required value: verbs must contain at least one value
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"x"},"aggregationRule":{}}
ClusterRole.rbac.authorization.k8s.io "x" is invalid: aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"x"}}
RoleBinding.rbac.authorization.k8s.io "x" is invalid: [roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole", roleRef.name: Required value]
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"x"},"roleRef":{"kind":"Role","name":"x"},"subjects":[{"kind":"ServiceAccount","name":"a"}]}
ClusterRoleBinding.rbac.authorization.k8s.io "x" is invalid: [roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole", subjects[0].namespace: Required value]
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"x"},"webhooks":[{"name":"x","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://x"}}]}
ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: webhooks[0].name: Invalid value: "x": should be a domain with at least three segments separated by dots
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"x"},"webhooks":[{"name":"A","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://x"}}]}
ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: webhooks[0].name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"x"},"webhooks":[{"name":"","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://x"}}]}
ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: webhooks[0].name: Required value
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"x"},"webhooks":[{"name":"a.b.c","sideEffects":"Some","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://x"}}]}
ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"x"},"webhooks":[{"name":"a.b.c","sideEffects":null,"admissionReviewVersions":["v1"],"clientConfig":{"url":"https://x"}}]}
ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"x"},"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":[],"clientConfig":{"url":"https://x"}}]}
ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"x"},"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v2"],"clientConfig":{"url":"https://x"}}]}
ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: webhooks[0].admissionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"x"},"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1","v1"],"clientConfig":{"url":"https://x"}}]}
ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: webhooks[0].admissionReviewVersions[1]: Invalid value: "v1": duplicate version
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"x"},"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{}}]}
ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: webhooks[0].clientConfig: Required value: exactly one of url or service is required
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"x"},"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"http://x"}}]}
ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"x"},"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://u@x/y?z#f"}}]}
ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: [webhooks[0].clientConfig.url: Invalid value: "u": user information is not permitted in the URL, webhooks[0].clientConfig.url: Invalid value: "f": fragments are not permitted in the URL, webhooks[0].clientConfig.url: Invalid value: "z": query parameters are not permitted in the URL]
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"x"},"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https:///x"}}]}
ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: webhooks[0].clientConfig.url: Invalid value: "": host must be specified; desired format: https://host[/path]
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"x"},"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://x"},"timeoutSeconds":31}]}
ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"x"},"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://x"},"failurePolicy":"x","matchPolicy":"y"}]}
ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: [webhooks[0].failurePolicy: Unsupported value: "x": supported values: "Fail", "Ignore", webhooks[0].matchPolicy: Unsupported value: "y": supported values: "Equivalent", "Exact"]
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration","metadata":{"name":"x"},"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://x"},"reinvocationPolicy":"x"}]}
MutatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: webhooks[0].reinvocationPolicy: Unsupported value: "x": supported values: "IfNeeded", "Never"
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"x"},"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://x"},"rules":[{}]}]}
ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: [webhooks[0].rules[0].operations: Required value, webhooks[0].rules[0].apiGroups: Required value, webhooks[0].rules[0].apiVersions: Required value, webhooks[0].rules[0].resources: Required value]
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"x"},"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://x"},"rules":[{"operations":["*","CREATE"],"apiGroups":["*","x"],"apiVersions":["*","v1"],"resources":["*/*","x",""],"scope":"y"}]}]}
ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: [webhooks[0].rules[0].operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other operations, webhooks[0].rules[0].apiGroups: Invalid value: ["*","x"]: if '*' is present, must not specify other API groups, webhooks[0].rules[0].apiVersions: Invalid value: ["*","v1"]: if '*' is present, must not specify other API versions, webhooks[0].rules[0].resources[2]: Required value, webhooks[0].rules[0].resources: Invalid value: ["*/*","x",""]: if '*/*' is present, must not specify other resources, webhooks[0].rules[0].scope: Unsupported value: "y": supported values: "*", "Cluster", "Namespaced"]
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"x"},"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://x"},"rules":[{"operations":["X"],"apiGroups":[""],"apiVersions":["v1"],"resources":["x"]}]}]}
ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: webhooks[0].rules[0].operations[0]: Unsupported value: "X": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"x"},"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://x"},"matchConditions":[{"name":"","expression":""}]}]}
ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: [webhooks[0].matchConditions[0].expression: Required value, webhooks[0].matchConditions[0].name: Required value]
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"x"},"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://x"},"namespaceSelector":{"matchLabels":{"a b":"c"}}}]}
ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: webhooks[0].namespaceSelector.matchLabels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"x"},"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://x"}},{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://x"}}]}
ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: webhooks[1].name: Duplicate value: "a.b.c"
{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"x"},"spec":{}}
PersistentVolumeClaim "x" is invalid: [spec.accessModes: Required value: at least 1 access mode is required, spec.resources[storage]: Required value]
{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"x"},"spec":{"accessModes":["X"],"resources":{"requests":{"storage":"0"}}}}
PersistentVolumeClaim "x" is invalid: [spec.accessModes: Unsupported value: "X": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod", spec.resources[storage]: Invalid value: "0": must be greater than zero]
{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"x"},"spec":{"accessModes":["ReadWriteOncePod","ReadWriteOnce"],"resources":{"requests":{"storage":"1"}},"volumeMode":"x","storageClassName":"A"}}
PersistentVolumeClaim "x" is invalid: [spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes, spec.storageClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'), spec.volumeMode: Unsupported value: "x": supported values: "Block", "Filesystem"]
{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"x"},"spec":{}}
PersistentVolume "x" is invalid: [spec.accessModes: Required value, spec.capacity: Required value, spec.capacity: Unsupported value: null: supported values: "storage", spec: Required value: must specify a volume type]
{"apiVersion":"v1","kind":"Node","metadata":{"name":"x"},"status":{"capacity":{"cpu":"-1","nvidia.com/gpu":"500m"}}}
Node "x" is invalid: [status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0, status.capacity.nvidia.com/gpu: Invalid value: "500m": must be an integer, status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0, status.allocatable.nvidia.com/gpu: Invalid value: "500m": must be an integer]
{"apiVersion":"v1","kind":"Node","metadata":{"name":"x"},"spec":{"podCIDRs":["x"]}}
Node "x" is invalid: spec.podCIDRs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)
{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"x"},"spec":{"finalizers":["a b"]}}
Namespace "x" is invalid: [spec.finalizers: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), spec.finalizers: Invalid value: "a b": name is neither a standard finalizer name nor is it fully qualified]
{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"x"}}
StorageClass.storage.k8s.io "x" is invalid: provisioner: Required value
{"apiVersion":"node.k8s.io/v1","kind":"RuntimeClass","metadata":{"name":"x"},"handler":"A"}
RuntimeClass.node.k8s.io "x" is invalid: handler: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')
{"apiVersion":"node.k8s.io/v1","kind":"RuntimeClass","metadata":{"name":"x"}}
RuntimeClass.node.k8s.io "x" is invalid: handler: Required value
{"apiVersion":"v1","kind":"ConfigMap","metadata":{}}
ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"A_b"}}
ConfigMap "A_b" is invalid: metadata.name: Invalid value: "A_b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}}}
ConfigMap "a" is invalid: [metadata.labels: Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": name part must be no more than 63 bytes, metadata.labels: Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": must be no more than 63 bytes]
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","annotations":{"bad key":"v","UP.x/Ok":"any thing"}}}
ConfigMap "a" is invalid: metadata.annotations: Invalid value: "bad key": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"x"},{"apiVersion":"","kind":"","name":"","uid":""},{"apiVersion":"a/b/c","kind":"x","name":"y","uid":"z"}]}}
ConfigMap "a" is invalid: [metadata.ownerReferences.uid: Invalid value: "": must not be empty, metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty, metadata.ownerReferences.kind: Invalid value: "": must not be empty, metadata.ownerReferences.name: Invalid value: "": must not be empty, metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty]
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"u","controller":true},{"apiVersion":"v1","kind":"Pod","name":"y","uid":"v","controller":true}]}}
ConfigMap "a" is invalid: metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"Pod","name":"x","uid":"u","controller":true},{"apiVersion":"v1","kind":"Pod","name":"y","uid":"v","controller":true}]: Only one reference can have Controller set to true. Found "true" in references for Pod/x and Pod/y
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"Event","name":"x","uid":"u"}]}}
ConfigMap "a" is invalid: metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"x","uid":"u"}: /v1, Kind=Event is disallowed from being an owner
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","finalizers":["x","a b","orphan","foregroundDeletion","kubernetes","a.b/c"]}}
ConfigMap "a" is invalid: [metadata.finalizers: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), metadata.finalizers: Invalid value: ["x","a b","orphan","foregroundDeletion","kubernetes","a.b/c"]: finalizer orphan and foregroundDeletion cannot be both set, metadata.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified, metadata.finalizers[1]: Invalid value: "a b": name is neither a standard finalizer name nor is it fully qualified]
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","finalizers":["orphan","foregroundDeletion"]}}
ConfigMap "a" is invalid: metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","generation":-1}}
ConfigMap "a" is invalid: metadata.generation: Invalid value: -1: must be greater than or equal to 0
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}}
ConfigMap "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" is invalid: metadata.name: Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": must be no more than 253 characters
{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a.b"}}
Namespace "a.b" is invalid: metadata.name: Invalid value: "a.b": must not contain dots
{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}}
Namespace "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" is invalid: [metadata.name: Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": must be no more than 63 characters, metadata.labels: Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": must be no more than 63 bytes]
{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"A."}}
Namespace "A." is invalid: [metadata.name: Invalid value: "A.": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?'), metadata.labels: Invalid value: "A.": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')]
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"a/b%"}}
Role.rbac.authorization.k8s.io "a/b%" is invalid: [metadata.name: Invalid value: "a/b%": may not contain '/', metadata.name: Invalid value: "a/b%": may not contain '%']
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":".."}}
Role.rbac.authorization.k8s.io ".." is invalid: metadata.name: Invalid value: "..": may not be '..'
{"apiVersion":"v1","kind":"Node","metadata":{"name":"a","labels":{"x":"-"}}}
Node "a" is invalid: metadata.labels: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')
{"apiVersion":"v1","kind":"Event","metadata":{"name":"A%"},"involvedObject":{"namespace":"builtin"}}
Event "A%" is invalid: metadata.name: Invalid value: "A%": may not contain '%'
{"apiVersion":"v1","kind":"Event","metadata":{"name":"a"},"involvedObject":{"namespace":"builtin"},"eventTime":"2026-01-01T00:00:00.000000Z"}
Event "a" is invalid: [reportingComponent: Required value, reportingComponent: Invalid value: "": name part must be non-empty, reportingComponent: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), reportingInstance: Required value, action: Required value, reason: Required value]
"#;
