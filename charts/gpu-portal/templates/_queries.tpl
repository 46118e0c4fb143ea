{{/*
PromQL over dcgm-exporter's series, for the dashboards of the OpenShift console. A device is a card (UUID) or a MIG instance of it (UUID, GPU_I_ID). What
DCGM tells of a card it repeats on the rows of its instances, and what it tells of a device on the rows of each pod that shares it: max by the device comes
before any sum. Names are those before and since DCGM 4.6.
*/}}
{{- define "gpu-portal.dcgm.engine" -}}DCGM_FI_PROF_GR_ENGINE_ACTIVE|DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO{{- end }}
{{- define "gpu-portal.dcgm.util" -}}DCGM_FI_DEV_GPU_UTIL|DCGM_FI_DEV_GPU_UTIL_RATIO{{- end }}
{{- define "gpu-portal.dcgm.power" -}}DCGM_FI_DEV_POWER_USAGE|DCGM_FI_DEV_BOARD_POWER_WATTS{{- end }}
{{- define "gpu-portal.dcgm.temperature" -}}DCGM_FI_DEV_GPU_TEMP|DCGM_FI_DEV_GPU_TEMP_CELSIUS{{- end }}
{{- define "gpu-portal.dcgm.xid" -}}DCGM_FI_DEV_XID_ERRORS|DCGM_FI_DEV_XID_ERROR{{- end }}

{{/*
held are the rows of devices that a pod holds, with the pod's namespace and name under namespace and pod: .names, .and (more matchers), .at (an offset),
.project (of $namespace alone). Without honorLabels Prometheus keeps the exporter's own pod in namespace and pod, and the holder moves to exported_*; with it
the rows of a free device carry the exporter's pod. Where the console asks for one project, namespace="…" is added to each selector: only rows with
honorLabels are left then.
*/}}
{{- define "gpu-portal.held" -}}
{{- $and := .and | default "" -}}{{- $at := .at | default "" -}}
{{- $moved := ternary "exported_namespace=\"$namespace\"" "exported_namespace!=\"\"" (.project | default false) -}}
{{- $plain := ternary "namespace=\"$namespace\"" "namespace!=\"\"" (.project | default false) -}}
label_replace(label_replace({__name__=~"{{ .names }}",{{ $moved }}{{ $and }}}{{ $at }}, "namespace", "$1", "exported_namespace", "(.+)"), "pod", "$1", "exported_pod", "(.+)") or {__name__=~"{{ .names }}",exported_namespace="",{{ $plain }},pod!~"(nvidia-)?dcgm-exporter-.+"{{ $and }}}{{ $at }}
{{- end }}

{{/*
busy is how busy held devices are, 0..1, by .by: all of them, or those of .only: cards or instances. Where a card is shared, dcgm-exporter tells GPU_UTIL for
each pod (label vgpu). GPU_UTIL stands in where profiling is missing too, and never for a MIG instance: some exporters say 0 there. What is above 100 % is
DCGM's mark for "no value".
*/}}
{{- define "gpu-portal.busy" -}}
{{- $only := .only | default "" -}}
{{- $and := get (dict "cards" ",GPU_I_ID=\"\"" "instances" ",GPU_I_ID!=\"\"") $only -}}
{{- $util := include "gpu-portal.dcgm.util" . -}}
{{- if ne $only "instances" }}(max by ({{ .by }}) ({{ include "gpu-portal.held" (merge (dict "names" $util "and" ",GPU_I_ID=\"\",vgpu!=\"\"") .) }}) <= 100) / 100 or {{ end -}}
max by ({{ .by }}) ({{ include "gpu-portal.held" (merge (dict "names" (include "gpu-portal.dcgm.engine" .) "and" $and) .) }}) <= 1.05
{{- if ne $only "instances" }} or (max by ({{ .by }}) ({{ include "gpu-portal.held" (merge (dict "names" $util "and" ",GPU_I_ID=\"\"") .) }}) <= 100) / 100{{ end }}
{{- end }}

{{/* idle are the devices, by .by, that were held an hour ago and now, and have not been busy in between; unknown use is not idle. */}}
{{- define "gpu-portal.idle" -}}
max_over_time(({{ include "gpu-portal.busy" . }})[1h:1m]) < 0.01 and max by ({{ .by }}) ({{ include "gpu-portal.held" (merge (dict "names" "DCGM_FI_DEV_FB_USED") .) }}) and max by ({{ .by }}) ({{ include "gpu-portal.held" (merge (dict "names" "DCGM_FI_DEV_FB_USED" "at" " offset 1h") .) }})
{{- end }}

{{/* memory is which part of its memory each device uses, 0..1. The total has no series of its own. */}}
{{- define "gpu-portal.memory" -}}
max by (UUID, GPU_I_ID) (DCGM_FI_DEV_FB_USED) / (max by (UUID, GPU_I_ID) (DCGM_FI_DEV_FB_USED) + max by (UUID, GPU_I_ID) (DCGM_FI_DEV_FB_FREE) + (max by (UUID, GPU_I_ID) (DCGM_FI_DEV_FB_RESERVED) or 0 * max by (UUID, GPU_I_ID) (DCGM_FI_DEV_FB_USED)))
{{- end }}

{{/* node is the rows of .names with the node under hostname, which was Hostname until 2026. */}}
{{- define "gpu-portal.node" -}}
label_replace({__name__=~"{{ .names }}"}, "hostname", "$1", "Hostname", "(.+)")
{{- end }}
