{{/* fullname begins the names of all objects. */}}
{{- define "gpu-portal.fullname" -}}
{{- if contains "gpu-portal" .Release.Name }}{{ .Release.Name | trunc 48 | trimSuffix "-" }}{{ else }}{{ printf "%s-gpu-portal" .Release.Name | trunc 48 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{/* selector finds the portal's pods. The name is fixed: policies of workloads let the gateway in by it. */}}
{{- define "gpu-portal.selector" -}}
app.kubernetes.io/name: gpu-portal
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gpu-portal.labels" -}}
{{ include "gpu-portal.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: gpu-portal
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "gpu-portal.agentSelector" -}}
app.kubernetes.io/name: gpu-portal-agent
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gpu-portal.agentLabels" -}}
{{ include "gpu-portal.agentSelector" . }}
app.kubernetes.io/part-of: gpu-portal
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "gpu-portal.image" -}}
{{- $tag := .image.tag | default .root.Chart.AppVersion -}}
{{- $repository := include "gpu-portal.mirrored" (dict "name" .image.repository "mirror" (.root.Values.config.imageMirror | default dict)) -}}
{{- if .image.digest }}{{ $repository }}@{{ .image.digest }}{{ else }}{{ $repository }}:{{ $tag }}{{ end -}}
{{- end }}

{{/* mirrored is where a repository lies at the mirror, by the rules of catalog.Mirror, by which the portal rewrites the images of workloads. */}}
{{- define "gpu-portal.mirrored" -}}
{{- $to := .mirror.registry | default "" | trimSuffix "/" -}}
{{- $first := first (splitList "/" .name) -}}
{{- $registry := "docker.io" -}}{{- $rest := .name -}}
{{- if and (contains "/" .name) (or (contains "." $first) (contains ":" $first) (eq $first "localhost")) -}}
{{- $registry = $first -}}{{- $rest = trimPrefix (printf "%s/" $first) .name -}}
{{- end -}}
{{- if eq $registry "index.docker.io" }}{{ $registry = "docker.io" }}{{ end -}}
{{- if and (eq $registry "docker.io") (not (contains "/" $rest)) }}{{ $rest = printf "library/%s" $rest }}{{ end -}}
{{- if or (not $to) (eq $registry (first (splitList "/" $to))) (has $registry (.mirror.except | default list)) }}{{ .name }}{{ else }}{{ $to }}/{{ $rest }}{{ end -}}
{{- end }}

{{/* split is "true" when web and controller are pods of their own, which takes a database that both can reach. */}}
{{- define "gpu-portal.split" -}}
{{- if include "gpu-portal.databaseSecret" . }}true{{ end -}}
{{- end }}

{{/* databaseSecret is the Secret with the address of PostgreSQL: the site's own, or what CloudNativePG makes for the owner of a Cluster's database. */}}
{{- define "gpu-portal.databaseSecret" -}}
{{- if .Values.database.existingSecret }}{{ .Values.database.existingSecret }}
{{- else if .Values.database.cloudNativePG.enabled }}{{ include "gpu-portal.fullname" . }}-db-app{{ end -}}
{{- end }}

{{- define "gpu-portal.databaseKey" -}}
{{- if .Values.database.existingSecret }}{{ .Values.database.key }}{{ else }}uri{{ end -}}
{{- end }}

{{/* givesUsers is not empty on OpenShift, where security context constraints give each namespace users of its own. */}}
{{- define "gpu-portal.givesUsers" -}}
{{- if or (not .Values.runAsUser) (.Capabilities.APIVersions.Has "security.openshift.io/v1") }}yes{{ end -}}
{{- end }}

{{- define "gpu-portal.agentNamespace" -}}
{{- .Values.agent.namespace | default .Release.Namespace -}}
{{- end }}

{{/* roles begins the names of the ClusterRoles and of the admission policy. */}}
{{- define "gpu-portal.roles" -}}
{{ .Release.Namespace }}-{{ include "gpu-portal.fullname" . }}
{{- end }}

{{/* account is whom the controller's rights are bound to. */}}
{{- define "gpu-portal.account" -}}
{{- .Values.rbac.account | default (printf "system:serviceaccount:%s:%s-controller" .Release.Namespace (include "gpu-portal.fullname" .)) -}}
{{- end }}

{{/* proxyAccounts are those that go to workloads through the API server: the controller asks notebooks what they do, the gateway lets people in. */}}
{{- define "gpu-portal.proxyAccounts" -}}
{{- $accounts := list (include "gpu-portal.account" .) -}}
{{- if and (include "gpu-portal.split" .) (not .Values.rbac.account) -}}
{{- $accounts = append $accounts (printf "system:serviceaccount:%s:%s" .Release.Namespace (include "gpu-portal.fullname" .)) -}}
{{- end -}}
{{- toJson $accounts -}}
{{- end }}

{{/* logsAccounts are those that answer with logs and terminals: of the pages. */}}
{{- define "gpu-portal.logsAccounts" -}}
{{- $account := include "gpu-portal.account" . -}}
{{- if and (include "gpu-portal.split" .) (not .Values.rbac.account) -}}
{{- $account = printf "system:serviceaccount:%s:%s" .Release.Namespace (include "gpu-portal.fullname" .) -}}
{{- end -}}
{{- toJson (list $account) -}}
{{- end }}

{{/* subject is an account as a RoleBinding has it. */}}
{{- define "gpu-portal.subject" -}}
{{- if hasPrefix "system:serviceaccount:" . -}}
{{- $parts := splitList ":" . -}}
{kind: ServiceAccount, namespace: {{ index $parts 2 }}, name: {{ index $parts 3 }}}
{{- else -}}
{apiGroup: rbac.authorization.k8s.io, kind: User, name: {{ . | quote }}}
{{- end -}}
{{- end }}

{{/* isSubject is CEL: s is one of these accounts. */}}
{{- define "gpu-portal.isSubject" -}}
{{- $cases := list -}}
{{- range . -}}
{{- if hasPrefix "system:serviceaccount:" . -}}
{{- $parts := splitList ":" . -}}
{{- $cases = append $cases (printf "s.kind == 'ServiceAccount' && s.namespace == '%s' && s.name == '%s'" (index $parts 2) (index $parts 3)) -}}
{{- else -}}
{{- $cases = append $cases (printf "s.kind == 'User' && s.name == '%s'" .) -}}
{{- end -}}
{{- end -}}
{{- join " || " $cases -}}
{{- end }}

{{/* namespacePattern is config.tenantNamespaces as a regular expression. */}}
{{- define "gpu-portal.namespacePattern" -}}
{{- $names := list -}}
{{- range .Values.config.tenantNamespaces -}}{{- $names = append $names (replace "*" "[a-z0-9-]*" .) -}}{{- end -}}
^({{ join "|" $names }})$
{{- end }}

{{/* modelGateway is not empty where a setting of the cluster that the chart is installed in says what carries endpoints' calls. */}}
{{- define "gpu-portal.modelGateway" -}}
{{- range .Values.config.clusters -}}{{- if and (not .kubeconfig) .modelGateway -}}yes{{- end -}}{{- end -}}
{{- end }}

{{/* kuadrant is not empty where policies of Kuadrant are written for those calls, or taken back. */}}
{{- define "gpu-portal.kuadrant" -}}
{{- range .Values.config.clusters -}}{{- if and (not .kubeconfig) .modelGateway -}}{{- if has .modelGateway.kind (list "kuadrant" "embedded") -}}yes{{- end -}}{{- end -}}{{- end -}}
{{- end }}

{{/* envoyAIGateway is not empty where routes and policies of Envoy AI Gateway are written for those calls, or taken back. */}}
{{- define "gpu-portal.envoyAIGateway" -}}
{{- range .Values.config.clusters -}}{{- if and (not .kubeconfig) .modelGateway -}}{{- if has .modelGateway.kind (list "envoy-ai-gateway" "embedded") -}}yes{{- end -}}{{- end -}}{{- end -}}
{{- end }}

{{/* access is how the portal comes by its rights in tenants' namespaces, for the settings of one cluster. */}}
{{- define "gpu-portal.access" -}}
{{- $roles := include "gpu-portal.roles" . -}}
{{- $access := dict "bindings" .Values.rbac.bindings "role" (printf "%s-tenant" $roles) "account" (include "gpu-portal.account" .) -}}
{{- if .Values.rbac.proxy -}}
{{- $_ := set $access "proxyRole" (printf "%s-proxy" $roles) -}}
{{- $_ := set $access "proxyAccounts" (include "gpu-portal.proxyAccounts" . | fromJsonArray) -}}
{{- end -}}
{{- if .Values.rbac.logs -}}
{{- $_ := set $access "logsRole" (printf "%s-logs" $roles) -}}
{{- $_ := set $access "logsAccounts" (include "gpu-portal.logsAccounts" . | fromJsonArray) -}}
{{- end -}}
{{- if .Values.rbac.terminal -}}
{{- $_ := set $access "terminalRole" (printf "%s-terminal" $roles) -}}
{{- $_ := set $access "terminalAccounts" (include "gpu-portal.logsAccounts" . | fromJsonArray) -}}
{{- end -}}
{{- if .Values.rbac.kserve -}}
{{- $_ := set $access "kserve" true -}}
{{- end -}}
{{- if .Values.rbac.jobset -}}
{{- $_ := set $access "jobset" true -}}
{{- end -}}
{{- if .Values.rbac.leaderworkerset -}}
{{- $_ := set $access "leaderworkerset" true -}}
{{- end -}}
{{- if .Values.rbac.keda -}}
{{- $_ := set $access "keda" true -}}
{{- end -}}
{{- if .Values.rbac.snapshots -}}
{{- $_ := set $access "snapshots" true -}}
{{- end -}}
{{- if include "gpu-portal.modelGateway" . -}}
{{- $_ := set $access "modelGateway" true -}}
{{- end -}}
{{- if include "gpu-portal.kuadrant" . -}}
{{- $_ := set $access "kuadrant" true -}}
{{- end -}}
{{- if include "gpu-portal.envoyAIGateway" . -}}
{{- $_ := set $access "envoyAIGateway" true -}}
{{- end -}}
{{- toJson $access -}}
{{- end }}

{{/* settings is portal.yaml: what was given, and what follows from the other values. */}}
{{/* plugin is not empty where the console can have one. */}}
{{- define "gpu-portal.plugin" -}}
{{- if and .Values.console.plugin.enabled (.Capabilities.APIVersions.Has "console.openshift.io/v1") (hasPrefix "https://" .Values.config.url) }}yes{{ end -}}
{{- end }}

{{- define "gpu-portal.settings" -}}
{{- $c := deepCopy .Values.config -}}
{{- $_ := set $c "listen" ":8080" -}}
{{- $_ := set $c "metricsListen" ":9090" -}}
{{- if not (include "gpu-portal.split" .) }}{{ $_ := set $c "database" "sqlite:/data/portal.db" }}{{ end -}}
{{- if .Values.secrets.key.existingSecret }}{{ $_ := set $c "secretKeyFile" (printf "/etc/gpu-portal/key/%s" .Values.secrets.key.key) }}{{ end -}}
{{- if .Values.secrets.oidc.existingSecret }}{{ $_ := set $c.oidc "clientSecretFile" (printf "/etc/gpu-portal/oidc/%s" .Values.secrets.oidc.key) }}{{ end -}}
{{- if include "gpu-portal.plugin" . -}}
  {{- $ours := dict "listen" ":9443" "certFile" "/etc/gpu-portal/console/tls.crt" "keyFile" "/etc/gpu-portal/console/tls.key" "plugin" (include "gpu-portal.roles" .) -}}
  {{- $_ := set $c "console" (merge $ours ($c.console | default dict)) -}}
{{- end -}}
{{- $clusters := list -}}
{{- range $c.clusters -}}
  {{- if not .gatewayNamespace }}{{ $_ := set . "gatewayNamespace" $.Release.Namespace }}{{ end -}}
  {{- if and $.Values.agent.enabled (not .agents) (not .kubeconfig) -}}
    {{- $_ := set . "agents" (dict "namespace" (include "gpu-portal.agentNamespace" $) "port" (int $.Values.agent.port) "tokenFile" (printf "/etc/gpu-portal/agent/%s" $.Values.agent.tokenSecret.key)) -}}
  {{- end -}}
  {{- if and (not .kubeconfig) (not .access) -}}
    {{- $_ := set . "access" (include "gpu-portal.access" $ | fromJson) -}}
  {{- end -}}
  {{- if and (eq (default "direct" .podAccess) "apiserver") (not .kubeconfig) (not $.Values.rbac.proxy) -}}
    {{- fail (printf "config.clusters: %s has podAccess: apiserver, which needs the right to the proxy of Services: set rbac.proxy" .name) -}}
  {{- end -}}
  {{- $clusters = append $clusters . -}}
{{- end -}}
{{- $_ := set $c "clusters" $clusters -}}
{{- toYaml $c -}}
{{- end }}

{{- define "gpu-portal.host" -}}
{{- (urlParse .Values.config.url).hostname -}}
{{- end }}

{{/* securityContext is what Pod Security calls restricted, on a read-only file system. */}}
{{- define "gpu-portal.containerSecurity" -}}
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
readOnlyRootFilesystem: true
{{- if not (include "gpu-portal.givesUsers" .) }}
runAsUser: {{ .Values.runAsUser }}
{{- end }}
{{- end }}

{{- define "gpu-portal.podSecurity" -}}
runAsNonRoot: true
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* pod is one pod template: role is web, controller or all; account is its service account. */}}
{{- define "gpu-portal.pod" -}}
{{- $root := .root -}}
{{- $v := .root.Values -}}
metadata:
  labels:
    {{- include "gpu-portal.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  annotations:
    checksum/settings: {{ include "gpu-portal.settings" $root | sha256sum }}
    {{- with .part.podAnnotations }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  serviceAccountName: {{ .account }}
  {{- with $v.imagePullSecrets }}
  imagePullSecrets: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with $v.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  terminationGracePeriodSeconds: 30
  securityContext:
    {{- include "gpu-portal.podSecurity" $root | nindent 4 }}
    {{- if and (not .split) (not (include "gpu-portal.givesUsers" $root)) }}
    fsGroup: {{ $v.runAsUser }}
    {{- end }}
  containers:
    - name: portal
      image: {{ include "gpu-portal.image" (dict "image" $v.image "root" $root) }}
      imagePullPolicy: {{ $v.image.pullPolicy }}
      args: [serve, --config, /etc/gpu-portal/portal.yaml, --roles, {{ .roles | quote }}]
      env:
        {{- if .split }}
        - name: PORTAL_DATABASE
          valueFrom: {secretKeyRef: {name: {{ include "gpu-portal.databaseSecret" $root }}, key: {{ include "gpu-portal.databaseKey" $root }}}}
        {{- end }}
        {{- if $v.trustedCA.existingConfigMap }}
        - {name: SSL_CERT_DIR, value: /etc/gpu-portal/ca}
        {{- end }}
        - name: GOMEMLIMIT
          valueFrom: {resourceFieldRef: {resource: limits.memory}}
        {{- with $v.extraEnv }}{{ toYaml . | nindent 8 }}{{ end }}
      ports:
        - {name: http, containerPort: 8080}
        - {name: metrics, containerPort: 9090}
        {{- if and (include "gpu-portal.plugin" $root) (contains "web" .roles) }}
        - {name: console, containerPort: 9443}
        {{- end }}
      livenessProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: {path: /readyz, port: http}
        periodSeconds: 5
        timeoutSeconds: 5
      lifecycle:
        preStop: {sleep: {seconds: 5}} # until the endpoints of the Service are without it everywhere
      startupProbe: # a new version brings the database to its schema first
        httpGet: {path: /healthz, port: http}
        periodSeconds: 5
        failureThreshold: 60
      resources: {{ toYaml .part.resources | nindent 8 }}
      securityContext:
        {{- include "gpu-portal.containerSecurity" $root | nindent 8 }}
      volumeMounts:
        - {name: settings, mountPath: /etc/gpu-portal/portal.yaml, subPath: portal.yaml, readOnly: true}
        - {name: tmp, mountPath: /tmp}
        {{- if not .split }}
        - {name: data, mountPath: /data}
        {{- end }}
        {{- if $v.secrets.key.existingSecret }}
        - {name: key, mountPath: /etc/gpu-portal/key, readOnly: true}
        {{- end }}
        {{- if $v.secrets.oidc.existingSecret }}
        - {name: oidc, mountPath: /etc/gpu-portal/oidc, readOnly: true}
        {{- end }}
        {{- if $v.agent.enabled }}
        - {name: agent, mountPath: /etc/gpu-portal/agent, readOnly: true}
        {{- end }}
        {{- if include "gpu-portal.plugin" $root }}
        - {name: console, mountPath: /etc/gpu-portal/console, readOnly: true}
        {{- end }}
        {{- if $v.trustedCA.existingConfigMap }}
        - {name: ca, mountPath: /etc/gpu-portal/ca, readOnly: true}
        {{- end }}
        {{- range $v.secrets.extra }}
        - {name: extra-{{ .name }}, mountPath: {{ .path }}, readOnly: true}
        {{- end }}
  volumes:
    - name: settings
      configMap: {name: {{ include "gpu-portal.fullname" $root }}}
    - name: tmp
      emptyDir: {sizeLimit: 256Mi}
    {{- if not .split }}
    - name: data
      persistentVolumeClaim: {claimName: {{ $v.database.sqlite.existingClaim | default (include "gpu-portal.fullname" $root) }}}
    {{- end }}
    {{- if $v.secrets.key.existingSecret }}
    - name: key
      secret: {secretName: {{ $v.secrets.key.existingSecret }}}
    {{- end }}
    {{- if $v.secrets.oidc.existingSecret }}
    - name: oidc
      secret: {secretName: {{ $v.secrets.oidc.existingSecret }}}
    {{- end }}
    {{- if $v.agent.enabled }}
    - name: agent
      secret: {secretName: {{ required "agent.tokenSecret.existingSecret: the portal and its agents share a token" $v.agent.tokenSecret.existingSecret }}}
    {{- end }}
    {{- if include "gpu-portal.plugin" $root }}
    - name: console # OpenShift makes and renews it for the Service
      secret: {secretName: {{ include "gpu-portal.fullname" $root }}-console}
    {{- end }}
    {{- if $v.trustedCA.existingConfigMap }}
    - name: ca
      configMap: {name: {{ $v.trustedCA.existingConfigMap }}}
    {{- end }}
    {{- range $v.secrets.extra }}
    - name: extra-{{ .name }}
      secret: {secretName: {{ .secret }}}
    {{- end }}
  {{- with .part.nodeSelector }}
  nodeSelector: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .part.tolerations }}
  tolerations: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- if .part.affinity }}
  affinity: {{ toYaml .part.affinity | nindent 4 }}
  {{- else if .split }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "gpu-portal.selector" $root | nindent 10 }}
          app.kubernetes.io/component: {{ .component }}
  {{- end }}
{{- end }}
