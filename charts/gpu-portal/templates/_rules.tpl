{{/*
rules are the alerts. Each says what people notice, and where to look first. What every replica tells alike (it is in the database) is taken once, with max;
what one process tells of itself keeps its pod.
*/}}
{{- define "gpu-portal.rules" -}}
{{- $v := .Values.metrics.rules -}}
{{- $of := printf "namespace=%q" .Release.Namespace -}}
{{- $agents := printf "namespace=%q" (include "gpu-portal.agentNamespace" .) -}}
groups:
  - name: gpu-portal
    rules:
      - alert: GPUPortalDown
        expr: absent(gpu_portal_build_info{ {{- $of -}} })
        for: 5m
        labels: {severity: critical}
        annotations:
          summary: >-
            The GPU portal does not answer.
          description: >-
            No process of the portal can be scraped. What runs goes on; nobody can start, stop or open anything. Look at the pods and their last log lines.
      - alert: GPUPortalNoLeader
        expr: sum(gpu_portal_leader{ {{- $of -}} }) < 1
        for: 5m
        labels: {severity: critical}
        annotations:
          summary: >-
            No process carries out wishes.
          description: >-
            Starts and stops are accepted and nothing happens; leases do not end. Look whether a controller runs and reaches the database.
      - alert: GPUPortalDatabaseAway
        expr: min by (pod) (gpu_portal_database_up{ {{- $of -}} }) == 0
        for: 5m
        labels: {severity: critical}
        annotations:
          summary: >-
            The database does not answer {{ "{{ $labels.pod }}" }}.
          description: >-
            Every page says so. Look at PostgreSQL, its connections and the network to it.
      - alert: GPUPortalErrors
        expr: sum(rate(gpu_portal_http_requests_total{ {{- $of }},code=~"5.."}[10m])) / sum(rate(gpu_portal_http_requests_total{ {{- $of -}} }[10m])) > 0.05
        for: 10m
        labels: {severity: warning}
        annotations:
          summary: >-
            {{ "{{ $value | humanizePercentage }}" }} of all calls fail.
          description: >-
            The log has a line "failed" with the request id for each of them.
      - alert: GPUPortalOutboxLag
        expr: max by (pod) (gpu_portal_outbox_lag_seconds{ {{- $of -}} }) > {{ $v.outboxLagSeconds }}
        for: 5m
        labels: {severity: warning}
        annotations:
          summary: >-
            {{ "{{ $labels.pod }}" }} is {{ "{{ $value | humanizeDuration }}" }} behind the database.
          description: >-
            Open pages show what is old, and wishes wait for the full comparison. Look at the load of the process and of the database.
      - alert: GPUPortalMessagesWait
        expr: max(gpu_portal_messages_lag_seconds{ {{- $of -}} }) > {{ $v.messagesLagSeconds }}
        for: 10m
        labels: {severity: warning}
        annotations:
          summary: >-
            Messages have waited for {{ "{{ $value | humanizeDuration }}" }}.
          description: >-
            Approvers and owners do not hear of requests and of leases that end. Look at the mail server, and at Notices in the portal.
      - alert: GPUPortalMessagesGivenUp
        expr: delta((max(gpu_portal_messages{ {{- $of }},state="failed"}))[1h:1m]) > 0
        labels: {severity: warning}
        annotations:
          summary: >-
            Messages could not be delivered.
          description: >-
            Notices in the portal says which, and sends them once more.
      - alert: GPUPortalClusterAway
        expr: max by (cluster) (gpu_portal_cluster_up{ {{- $of -}} }) == 0
        for: 5m
        labels: {severity: critical}
        annotations:
          summary: >-
            The API server of {{ "{{ $labels.cluster }}" }} does not answer.
          description: >-
            What runs goes on and nothing is stopped or charged on a guess; nothing new starts there.
      - alert: GPUPortalClusterHeld
        expr: max by (cluster) (gpu_portal_cluster_held{ {{- $of -}} }) == 1
        labels: {severity: critical}
        annotations:
          summary: >-
            The database is older than what {{ "{{ $labels.cluster }}" }} carries.
          description: >-
            After a restore or a failover. Nothing is created, changed or deleted there, and nothing can be asked for, until an administrator has decided under Differences what is right.
      - alert: GPUPortalUnknownObjects
        expr: max by (cluster) (gpu_portal_differences{ {{- $of }},side="cluster"}) > 0
        for: 15m
        labels: {severity: warning}
        annotations:
          summary: >-
            {{ "{{ $labels.cluster }}" }} has {{ "{{ $value }}" }} workloads or claims that the database does not know.
          description: >-
            They hold GPUs or storage that no quota and no budget counts. Differences in the portal lists them; they are never deleted by themselves.
      - alert: GPUPortalSpoofedObjects
        expr: sum by (cluster) (gpu_portal_spoofed_objects{ {{- $of -}} }) > 0
        for: 5m
        labels: {severity: warning}
        annotations:
          summary: >-
            {{ "{{ $labels.cluster }}" }} has {{ "{{ $value }}" }} objects with the portal's labels that the portal did not make.
          description: >-
            Somebody who may write in a team's namespace poses as the portal. Nothing is counted or connected for them. The audit names the objects.
      - alert: GPUPortalForeignEdits
        expr: sum by (cluster) (increase(gpu_portal_foreign_edits_total{ {{- $of -}} }[15m])) > 5
        labels: {severity: warning}
        annotations:
          summary: >-
            Somebody keeps changing the portal's objects in {{ "{{ $labels.cluster }}" }}.
          description: >-
            The portal takes each change back. The workloads' pages and the audit name the field and its manager: a person, or a controller that wants something else.
      - alert: GPUPortalReconcileErrors
        expr: >-
          sum by (cluster) (rate(gpu_portal_reconcile_duration_seconds_count{ {{- $of }},outcome="again"}[15m]))
          / sum by (cluster) (rate(gpu_portal_reconcile_duration_seconds_count{ {{- $of -}} }[15m])) > 0.25
        for: 15m
        labels: {severity: warning}
        annotations:
          summary: >-
            {{ "{{ $value | humanizePercentage }}" }} of the passes over workloads on {{ "{{ $labels.cluster }}" }} fail.
          description: >-
            Starts and stops there are late. The log has a line "reconcile" with the cluster's answer; rights and admission are the usual cause.
      - alert: GPUPortalReconcileBehind
        expr: max by (cluster) (gpu_portal_reconcile_queue_depth{ {{- $of -}} }) > {{ $v.queueDepth }}
        for: 15m
        labels: {severity: warning}
        annotations:
          summary: >-
            {{ "{{ $value }}" }} workloads on {{ "{{ $labels.cluster }}" }} wait for a pass.
          description: >-
            Starts and stops there are late. Look at the controller's load and at the cluster's API server.
      - alert: GPUPortalSlowStarts
        expr: histogram_quantile(0.9, sum by (cluster, size, le) (rate(gpu_portal_time_to_ready_seconds_bucket{ {{- $of -}} }[6h]))) > {{ $v.slowStartSeconds }}
        for: 15m
        labels: {severity: info}
        annotations:
          summary: >-
            One start in ten of {{ "{{ $labels.size }}" }} takes longer than {{ "{{ $value | humanizeDuration }}" }}.
          description: >-
            Look at the capacity page for what waits, and at how long nodes take to pull images.
      - alert: GPUPortalInventoryStale
        expr: time() - max by (cluster) (gpu_portal_inventory_timestamp_seconds{ {{- $of -}} }) > {{ $v.readingsAgeSeconds }}
        for: 5m
        labels: {severity: warning}
        annotations:
          summary: >-
            What {{ "{{ $labels.cluster }}" }} has is known as of {{ "{{ $value | humanizeDuration }}" }} ago.
          description: >-
            Free capacity on the start page may be wrong.
      - alert: GPUPortalReadingsStale
        expr: time() - max by (cluster) (gpu_portal_readings_timestamp_seconds{ {{- $of -}} }) > {{ $v.readingsAgeSeconds }} or max by (cluster) (gpu_portal_readings_up{ {{- $of -}} }) == 0
        for: 10m
        labels: {severity: warning}
        annotations:
          summary: >-
            There are no fresh readings of the GPUs of {{ "{{ $labels.cluster }}" }}.
          description: >-
            Pages say "unknown since"; nothing is stopped or charged on it. Metrics health in the portal says which series are missing.
      - alert: GPUPortalSignInAway
        expr: min(gpu_portal_signin_provider_up{ {{- $of -}} }) == 0
        for: 5m
        labels: {severity: warning}
        annotations:
          summary: >-
            The sign-in provider does not answer.
          description: >-
            Who is signed in goes on working for a while; nobody else gets in.
      - alert: GPUPortalLicensePoolNearlyTaken
        expr: >-
          max by (pool) (gpu_portal_license_seats_taken{ {{- $of -}} })
          / (max by (pool) (gpu_portal_license_seats{ {{- $of -}} }) > 0) >= {{ $v.licensePoolRatio }}
        for: 15m
        labels: {severity: warning}
        annotations:
          summary: >-
            {{ "{{ $value | humanizePercentage }}" }} of the seats of {{ "{{ $labels.pool }}" }} are taken.
          description: >-
            When it is full, starts are refused or wait in line. Licenses in the portal says who holds them and when entitlements end.
      - alert: GPUPortalLicenseLost
        expr: max by (cluster) (gpu_portal_license_lost_nodes{ {{- $of -}} }) > 0
        for: 5m
        labels: {severity: critical}
        annotations:
          summary: >-
            {{ "{{ $value }}" }} nodes of {{ "{{ $labels.cluster }}" }} have lost the license of their vGPU.
          description: >-
            The vGPUs there slow down, and new starts avoid them. Fleet in the portal says which; look at the license server and the client configuration token.
  {{- if .Values.agent.enabled }}
  - name: gpu-portal-agent
    rules:
      - alert: GPUPortalAgentsDown
        expr: absent(gpu_portal_agent_build_info{ {{- $agents -}} })
        for: 10m
        labels: {severity: warning}
        annotations:
          summary: >-
            No node agent answers.
          description: >-
            How cards are cut and whether vGPUs have their license is unknown. Look at the DaemonSet, its nodes' labels and the token.
      - alert: GPUPortalAgentNoDriver
        expr: min by (namespace, pod, node) (gpu_portal_agent_driver_ready{ {{- $agents -}} }) == 0
        for: 15m
        labels: {severity: warning}
        annotations:
          summary: >-
            The agent {{ "{{ $labels.pod }}" }} cannot talk to the driver.
          description: >-
            The reason is in its report and its log.
      - alert: GPUPortalCardLost
        expr: max by (namespace, pod, node, uuid) (gpu_portal_agent_gpu_lost{ {{- $agents -}} }) == 1
        for: 1m
        labels: {severity: critical}
        annotations:
          summary: >-
            The card {{ "{{ $labels.uuid }}" }} fell off the bus or needs a reset.
          description: >-
            What runs on it will fail. Mark the card bad in the portal, and drain the node.
      - alert: GPUPortalCardRowsGone
        expr: max by (namespace, pod, node, uuid) (gpu_portal_agent_row_remap_failed{ {{- $agents -}} }) == 1
        labels: {severity: warning}
        annotations:
          summary: >-
            The card {{ "{{ $labels.uuid }}" }} has no spare memory rows left.
          description: >-
            It is to be replaced.
  {{- end }}
{{- end }}
