// Package agent reads one node's NVIDIA GPUs through NVML and says what it found: as one JSON report and as Prometheus
// metrics. It only reads.
//
// The way of the data: Loop asks a Source once per interval (loop.go) -> Reader opens a session with the driver and
// reads GPU by GPU (reader.go, session.go, gpu.go, mig.go, health.go, vgpu.go, processes.go) -> a Report of Values,
// each known or unknown with its reason (report.go) -> Handler serves the last one (server.go, metrics.go). Faults that
// the driver reports as events come in on the side (events.go).
//
// report.go and what serves it need no cgo, so that the portal can read what an agent wrote; whatever touches NVML
// stands behind the build tag cgo.
//
// # What unknown means
//
// No reading is ever replaced by a zero. A call that the card, the driver or the rights of the agent do not allow
// leaves a Value that is unknown and names the Reason; as a metric it is absent, and gpu_portal_agent_unknown_values
// counts it by reason.
//
// # Rights
//
// The agent needs the driver's library and device nodes (NVIDIA_VISIBLE_DEVICES=all,
// NVIDIA_DRIVER_CAPABILITIES=utility), and no Kubernetes API. Two readings ask for more, and are unknown
// ("no_permission", "no_such_process") without it:
//
//   - MIG placements, remaining capacity, and memory and processes of a card as a whole in MIG mode: NVML gives them to
//     a privileged user only (nvml.h: nvmlDeviceGetGpuInstances, nvmlDeviceGetMemoryInfo). Run as root, or with the MIG
//     monitor capability (NVIDIA_MIG_MONITOR_DEVICES=all).
//   - Containers of processes: NVML names processes by host PID, so the agent needs hostPID to find
//     /proc/<pid>/cgroup. That file is readable by everybody; command lines and environments are not read.
//
// An open NVML session can keep the MIG mode from being changed, so the DaemonSet selects
// nvidia.com/gpu.deploy.client=true: the MIG manager and driver upgrades of the GPU Operator take such pods off the
// node first.
//
// Everything else works as an ordinary user without capabilities, on a read-only root file system, with no volume but
// the token. The image needs a libc: NVML is loaded at run time.
//
// # Driver reload
//
// NVML's library stays in the process once one of its functions was called. A driver that is unloaded and loaded again
// is picked up with a new session; a driver of another version is not ("driver_mismatch"), and the program ends itself
// (exit code 3) so that the container starts anew with the new library (ErrRestart). One that begins with the wrong
// library stays up and says so: to begin again would not help.
//
// # Metrics
//
// All begin with gpu_portal_agent_; gpu is the index, uuid the card's UUID. A report older than three intervals gives
// no card metrics.
//
//	build_info{version}                                  1
//	driver_ready                                         1 while a session with the driver is open
//	driver_info{driver,nvml,cuda}                        versions; "" is unknown
//	driver_sessions_total                                sessions opened; more than one means the driver went away
//	rounds_total, round_duration_seconds                 rounds of reading, and how long the last one took
//	report_timestamp_seconds                             when the report was taken
//	unknown_values{reason}                               readings of the last round that are unknown
//	gpus                                                 cards that the driver lists
//	gpu_info{gpu,uuid,name,architecture,pci_bus_id,virtualization}   1
//	gpu_lost{gpu,uuid}                                   1 when the card fell off the bus or needs a reset
//	memory_{total,used,free,reserved}_bytes{gpu,uuid}
//	mig_enabled, mig_pending_enabled {gpu,uuid}          pending differs from enabled until the card is reset
//	mig_instances{gpu,uuid,profile}                      GPU instances that exist
//	mig_free_placements{gpu,uuid,profile}                starts at which one more would fit
//	mig_device_memory_{total,used}_bytes{gpu,uuid,mig_uuid}
//	processes{gpu,uuid,kind}                             kind: compute, graphics, mps
//	container_memory_used_bytes{gpu,uuid,pod_uid,container_id}   sum over the processes of a container
//	ecc_enabled{gpu,uuid}
//	ecc_errors_total{gpu,uuid,type}                      over the card's life; type: corrected, uncorrected
//	ecc_errors_since_load{gpu,uuid,type}                 since the driver was loaded
//	remapped_rows{gpu,uuid,type}, row_remap_pending, row_remap_failed {gpu,uuid}
//	retired_pages{gpu,uuid,cause}, retired_pages_pending{gpu,uuid}   cards before Ampere; cause: single_bit, double_bit
//	nvlink_up{gpu,uuid,link}, nvlink_errors_total{gpu,uuid,link,type}   type: crc_flit, crc_data, replay, recovery
//	xid_errors_total{gpu,uuid,xid}                       since the agent listens; absent where it cannot listen
//	vgpu_instances{gpu,uuid}                             on a vGPU host
//	vgpu_licensed{gpu,uuid,vgpu_uuid,type}               on a vGPU host
//	license_feature_licensed{gpu,uuid,feature,product}   in a vGPU guest, where the card has licensable features
//	license_expiry_timestamp_seconds{gpu,uuid,feature,product}
package agent
