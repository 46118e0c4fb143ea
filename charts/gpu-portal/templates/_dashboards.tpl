{{/*
The dashboards of the OpenShift console, in the part of Grafana's old format that it draws: rows, graph, singlestat and table; units are percentunit, bytes
and short. A table needs styles, and its targets make one row where their labels are the same.
*/}}
{{- define "gpu-portal.clusterDashboard" -}}
{{- $of := printf "namespace=%q" .Release.Namespace -}}
{{- $device := "namespace, UUID, GPU_I_ID" -}}
{{- $holder := "namespace, pod, modelName, GPU_I_PROFILE, UUID, GPU_I_ID" -}}
{{- $used := dict "names" "DCGM_FI_DEV_FB_USED" -}}
title: {{ printf "GPUs / Cluster (%s)" .Values.console.name | toJson }}
tags: [gpu-portal]
rows:
  - title: Now
    showTitle: true
    panels:
      - id: 1
        title: Physical GPUs
        type: singlestat
        span: 3
        decimals: 0
        targets: [{refId: A, expr: 'count(count by (UUID) (DCGM_FI_DEV_FB_USED))'}]
      - id: 2
        title: MIG instances
        type: singlestat
        span: 3
        decimals: 0
        targets: [{refId: A, expr: 'count(count by (UUID, GPU_I_ID) (DCGM_FI_DEV_FB_USED{GPU_I_ID!=""})) or 0 * count(DCGM_FI_DEV_FB_USED)'}]
      - id: 3
        title: Power of all GPUs
        type: singlestat
        span: 3
        postfix: " W"
        targets: [{refId: A, expr: {{ printf "sum(max by (UUID) ({__name__=~%q}))" (include "gpu-portal.dcgm.power" .) | toJson }}}]
      - id: 4
        title: Requests that wait for approval
        type: singlestat
        span: 3
        decimals: 0
        targets: [{refId: A, expr: {{ printf "max(gpu_portal_requests_pending{%s,waits_for=\"approval\"})" $of | toJson }}}]
  - title: Use by projects
    showTitle: true
    panels:
      - id: 5
        title: Whole and shared GPUs, busy
        type: graph
        span: 6
        legend: {show: true}
        yaxes: [{format: percentunit}]
        targets:
          - refId: A
            legendFormat: '{{ "{{namespace}}" }}'
            expr: {{ printf "avg by (namespace) (%s)" (include "gpu-portal.busy" (dict "by" $device "only" "cards")) | toJson }}
      - id: 6
        title: MIG instances, busy
        type: graph
        span: 6
        legend: {show: true}
        yaxes: [{format: percentunit}]
        targets:
          - refId: A
            legendFormat: '{{ "{{namespace}} {{GPU_I_PROFILE}}" }}'
            expr: {{ printf "avg by (namespace, GPU_I_PROFILE) (%s)" (include "gpu-portal.busy" (dict "by" "namespace, UUID, GPU_I_ID, GPU_I_PROFILE" "only" "instances")) | toJson }}
      - id: 7
        title: GPU memory, used of what is held
        type: graph
        span: 6
        legend: {show: true}
        yaxes: [{format: percentunit}]
        targets:
          - refId: A
            legendFormat: '{{ "{{namespace}}" }}'
            expr: {{ printf "avg by (namespace) (0 * max by (%s) (%s) + on (UUID, GPU_I_ID) group_left () (%s))" $device (include "gpu-portal.held" $used) (include "gpu-portal.memory" .) | toJson }}
      - id: 8
        title: GPUs and MIG instances held
        type: table
        span: 6
        styles:
          - {alias: Project, pattern: namespace, type: string}
          - {alias: GPU, pattern: modelName, type: string}
          - {alias: MIG profile, pattern: GPU_I_PROFILE, type: string}
          - {alias: Number, pattern: 'Value #A', type: number, decimals: 0, unit: short}
        targets:
          - refId: A
            expr: {{ printf "count by (namespace, modelName, GPU_I_PROFILE) (max by (namespace, modelName, GPU_I_PROFILE, UUID, GPU_I_ID) (%s))" (include "gpu-portal.held" $used) | toJson }}
      - id: 9
        title: Held for an hour without any work
        type: table
        span: 12
        styles:
          - {alias: Project, pattern: namespace, type: string}
          - {alias: Pod, pattern: pod, type: string}
          - {alias: GPU, pattern: modelName, type: string}
          - {alias: MIG profile, pattern: GPU_I_PROFILE, type: string}
          - {alias: Highest use, pattern: 'Value #A', type: number, decimals: 1, unit: percentunit}
        targets:
          - refId: A
            expr: {{ include "gpu-portal.idle" (dict "by" $holder) | toJson }}
  - title: Hardware
    showTitle: true
    panels:
      - id: 10
        title: Power, by node (W)
        type: graph
        span: 6
        legend: {show: true}
        yaxes: [{format: short}]
        targets:
          - refId: A
            legendFormat: '{{ "{{hostname}}" }}'
            expr: {{ printf "sum by (hostname) (max by (hostname, UUID) (%s))" (include "gpu-portal.node" (dict "names" (include "gpu-portal.dcgm.power" .))) | toJson }}
      - id: 11
        title: Hottest GPU, by node (°C)
        type: graph
        span: 6
        legend: {show: true}
        yaxes: [{format: short}]
        targets:
          - refId: A
            legendFormat: '{{ "{{hostname}}" }}'
            expr: {{ printf "max by (hostname) (%s)" (include "gpu-portal.node" (dict "names" (include "gpu-portal.dcgm.temperature" .))) | toJson }}
      - id: 12
        title: Last XID error of each GPU
        type: table
        span: 12
        styles:
          - {alias: Node, pattern: hostname, type: string}
          - {alias: Index, pattern: gpu, type: string}
          - {alias: MIG instance, pattern: GPU_I_ID, type: string}
          - {alias: UUID, pattern: UUID, type: string}
          - {alias: Meaning, pattern: err_msg, type: string}
          - {alias: XID, pattern: 'Value #A', type: number, decimals: 0, unit: short}
        targets:
          - refId: A
            expr: {{ printf "max by (hostname, gpu, GPU_I_ID, UUID, err_msg) (%s) > 0" (include "gpu-portal.node" (dict "names" (include "gpu-portal.dcgm.xid" .))) | toJson }}
  - title: GPU portal
    showTitle: true
    panels:
      - id: 13
        title: Devices, by who holds them
        type: table
        span: 12
        styles:
          - {alias: Cluster, pattern: cluster, type: string}
          - {alias: GPU, pattern: model, type: string}
          - {alias: Resource, pattern: resource, type: string}
          - {alias: Unit, pattern: unit, type: string}
          - {alias: MIG profile, pattern: profile, type: string}
          - {alias: Held by the portal's workloads, pattern: 'Value #A', type: number, decimals: 0, unit: short}
          - {alias: Held by others, pattern: 'Value #B', type: number, decimals: 0, unit: short}
          - {alias: Free, pattern: 'Value #C', type: number, decimals: 0, unit: short}
          - {alias: Broken, pattern: 'Value #D', type: number, decimals: 0, unit: short}
        targets:
          {{- range $ref, $state := dict "A" "ours" "B" "foreign" "C" "free" "D" "broken" }}
          - refId: {{ $ref }}
            expr: {{ printf "max by (cluster, model, resource, unit, profile) (gpu_portal_devices{%s,state=%q})" $of $state | toJson }}
          {{- end }}
      - id: 14
        title: Requests that wait
        type: graph
        span: 6
        legend: {show: true}
        yaxes: [{format: short}]
        targets:
          - refId: A
            legendFormat: 'for {{ "{{waits_for}}" }}'
            expr: {{ printf "max by (waits_for) (gpu_portal_requests_pending{%s})" $of | toJson }}
      - id: 15
        title: Workloads
        type: graph
        span: 6
        stack: true
        legend: {show: true}
        yaxes: [{format: short}]
        targets:
          - refId: A
            legendFormat: '{{ "{{state}}" }}'
            expr: {{ printf "max by (state) (gpu_portal_workloads{%s})" $of | toJson }}
      - id: 16
        title: License seats taken
        type: graph
        span: 6
        legend: {show: true}
        yaxes: [{format: percentunit}]
        targets:
          - refId: A
            legendFormat: '{{ "{{pool}}" }}'
            expr: {{ printf "max by (pool) (gpu_portal_license_seats_taken{%s}) / (max by (pool) (gpu_portal_license_seats{%s}) > 0)" $of $of | toJson }}
      - id: 17
        title: Time until ready, nine starts in ten (s)
        type: graph
        span: 6
        legend: {show: true}
        yaxes: [{format: short}]
        targets:
          - refId: A
            legendFormat: '{{ "{{size}}" }}'
            expr: {{ printf "histogram_quantile(0.9, sum by (size, le) (rate(gpu_portal_time_to_ready_seconds_bucket{%s}[6h])))" $of | toJson }}
{{- end }}

{{- define "gpu-portal.projectDashboard" -}}
{{- $device := "pod, modelName, GPU_I_PROFILE, UUID, GPU_I_ID" -}}
{{- $used := include "gpu-portal.held" (dict "names" "DCGM_FI_DEV_FB_USED" "project" true) -}}
{{- $resources := "resource=~\".*(nvidia|amd|intel|habana)_(com|ai)_.+\"" -}}
title: {{ printf "GPUs / Project (%s)" .Values.console.name | toJson }}
tags: [gpu-portal]
templating:
  list:
    - name: namespace
      type: query
      query: {{ printf "label_values(kube_pod_container_resource_requests{%s}, namespace)" $resources | toJson }}
      includeAll: false
rows:
  - title: Asked for
    showTitle: true
    panels:
      - id: 1
        title: GPUs that pods ask for
        type: table
        span: 6
        styles:
          - {alias: Resource, pattern: resource, type: string}
          - {alias: Running, pattern: 'Value #A', type: number, decimals: 0, unit: short}
          - {alias: Waiting, pattern: 'Value #B', type: number, decimals: 0, unit: short}
        targets:
          {{- range $ref, $phase := dict "A" "Running" "B" "Pending" }}
          - refId: {{ $ref }}
            expr: {{ printf "sum by (resource) (max by (pod, container, resource) (kube_pod_container_resource_requests{namespace=\"$namespace\",%s}) * on (pod) group_left () max by (pod) (kube_pod_status_phase{namespace=\"$namespace\",phase=%q} == 1))" $resources $phase | toJson }}
          {{- end }}
      - id: 2
        title: Quota
        type: table
        span: 6
        styles:
          - {alias: Resource, pattern: resource, type: string}
          - {alias: Used, pattern: 'Value #A', type: number, decimals: 0, unit: short}
          - {alias: Limit, pattern: 'Value #B', type: number, decimals: 0, unit: short}
        targets:
          - refId: A
            expr: 'max by (resource) (kube_resourcequota{namespace="$namespace",resource=~"requests[.].+/.+",type="used"})'
          - refId: B
            expr: 'min by (resource) (kube_resourcequota{namespace="$namespace",resource=~"requests[.].+/.+",type="hard"})'
  - title: Use
    showTitle: true
    panels:
      - id: 3
        title: Busy, by pod
        type: graph
        span: 6
        legend: {show: true}
        yaxes: [{format: percentunit}]
        targets:
          - refId: A
            legendFormat: '{{ "{{pod}} {{GPU_I_PROFILE}}" }}'
            expr: {{ printf "avg by (pod, GPU_I_PROFILE) (%s)" (include "gpu-portal.busy" (dict "by" $device "project" true)) | toJson }}
      - id: 4
        title: GPU memory used, by pod
        type: graph
        span: 6
        legend: {show: true}
        yaxes: [{format: bytes}]
        targets:
          - refId: A
            legendFormat: '{{ "{{pod}} {{GPU_I_PROFILE}}" }}'
            expr: {{ printf "1048576 * sum by (pod, GPU_I_PROFILE) (max by (%s) (%s))" $device $used | toJson }}
      - id: 5
        title: What pods hold
        type: table
        span: 12
        styles:
          - {alias: Pod, pattern: pod, type: string}
          - {alias: GPU, pattern: modelName, type: string}
          - {alias: MIG profile, pattern: GPU_I_PROFILE, type: string}
          - {alias: Memory used, pattern: 'Value #A', type: number, decimals: 1, unit: bytes}
          - {alias: Busy, pattern: 'Value #B', type: number, decimals: 0, unit: percentunit}
        targets:
          - refId: A
            expr: {{ printf "1048576 * max by (%s) (%s)" $device $used | toJson }}
          - refId: B
            expr: {{ include "gpu-portal.busy" (dict "by" $device "project" true) | toJson }}
      - id: 6
        title: Held for an hour without any work
        type: table
        span: 12
        styles:
          - {alias: Pod, pattern: pod, type: string}
          - {alias: GPU, pattern: modelName, type: string}
          - {alias: MIG profile, pattern: GPU_I_PROFILE, type: string}
          - {alias: Highest use, pattern: 'Value #A', type: number, decimals: 1, unit: percentunit}
        targets:
          - refId: A
            expr: {{ include "gpu-portal.idle" (dict "by" $device "project" true) | toJson }}
{{- end }}
