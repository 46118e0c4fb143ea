//go:build cgo

package agent

// call is one function of NVML that the agent uses.
type call int

const (
	callDriverVersion call = iota
	callNVMLVersion
	callCUDAVersion
	callCount
	callHandle
	callUUID
	callName
	callSerial
	callBrand
	callArchitecture
	callCapability
	callMinor
	callPCI
	callMemory
	callMemoryV2
	callMIGMode
	callProfile
	callPlacements
	callRemaining
	callInstances
	callInstance
	callMaxMIGDevices
	callMIGDevice
	callGPUInstanceID
	callComputeInstanceID
	callAttributes
	callCompute
	callGraphics
	callMPS
	callECCMode
	callECCErrors
	callRemappedRows
	callRetiredPages
	callRetiredPending
	callLinkState
	callLinkVersion
	callLinkRemote
	callLinkRemotePCI
	callLinkErrors
	callVirtualization
	callHostMode
	callHeterogeneous
	callScheduler
	callSupportedVGPUs
	callCreatableVGPUs
	callActiveVGPUs
	callTypeName
	callTypeClass
	callTypeLicense
	callTypeFramebuffer
	callTypeMax
	callVGPUUUID
	callVGPUVM
	callVGPUType
	callVGPUUsed
	callVGPUDriver
	callVGPUInstance
	callVGPULicense
	callLicense
	callEventSet
	callEventRegister
	callEventWait
	callEventFree
)

// symbols are the names under which the library exports each function, the plain one last. One of them is enough:
// go-nvml takes the newest that is there (pkg/nvml/lib.go, updateVersionedSymbols).
var symbols = map[call][]string{
	callDriverVersion:     {"nvmlSystemGetDriverVersion"},
	callNVMLVersion:       {"nvmlSystemGetNVMLVersion"},
	callCUDAVersion:       {"nvmlSystemGetCudaDriverVersion"},
	callCount:             {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"},
	callHandle:            {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"},
	callUUID:              {"nvmlDeviceGetUUID"},
	callName:              {"nvmlDeviceGetName"},
	callSerial:            {"nvmlDeviceGetSerial"},
	callBrand:             {"nvmlDeviceGetBrand"},
	callArchitecture:      {"nvmlDeviceGetArchitecture"},
	callCapability:        {"nvmlDeviceGetCudaComputeCapability"},
	callMinor:             {"nvmlDeviceGetMinorNumber"},
	callPCI:               {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"},
	callMemory:            {"nvmlDeviceGetMemoryInfo"},
	callMemoryV2:          {"nvmlDeviceGetMemoryInfo_v2"},
	callMIGMode:           {"nvmlDeviceGetMigMode"},
	callProfile:           {"nvmlDeviceGetGpuInstanceProfileInfo"},
	callPlacements:        {"nvmlDeviceGetGpuInstancePossiblePlacements_v2", "nvmlDeviceGetGpuInstancePossiblePlacements"},
	callRemaining:         {"nvmlDeviceGetGpuInstanceRemainingCapacity"},
	callInstances:         {"nvmlDeviceGetGpuInstances"},
	callInstance:          {"nvmlGpuInstanceGetInfo"},
	callMaxMIGDevices:     {"nvmlDeviceGetMaxMigDeviceCount"},
	callMIGDevice:         {"nvmlDeviceGetMigDeviceHandleByIndex"},
	callGPUInstanceID:     {"nvmlDeviceGetGpuInstanceId"},
	callComputeInstanceID: {"nvmlDeviceGetComputeInstanceId"},
	callAttributes:        {"nvmlDeviceGetAttributes_v2", "nvmlDeviceGetAttributes"},
	callCompute: {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
		"nvmlDeviceGetComputeRunningProcesses"},
	callGraphics: {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2",
		"nvmlDeviceGetGraphicsRunningProcesses"},
	callMPS: {"nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2",
		"nvmlDeviceGetMPSComputeRunningProcesses"},
	callECCMode:         {"nvmlDeviceGetEccMode"},
	callECCErrors:       {"nvmlDeviceGetTotalEccErrors"},
	callRemappedRows:    {"nvmlDeviceGetRemappedRows"},
	callRetiredPages:    {"nvmlDeviceGetRetiredPages"},
	callRetiredPending:  {"nvmlDeviceGetRetiredPagesPendingStatus"},
	callLinkState:       {"nvmlDeviceGetNvLinkState"},
	callLinkVersion:     {"nvmlDeviceGetNvLinkVersion"},
	callLinkRemote:      {"nvmlDeviceGetNvLinkRemoteDeviceType"},
	callLinkRemotePCI:   {"nvmlDeviceGetNvLinkRemotePciInfo_v2", "nvmlDeviceGetNvLinkRemotePciInfo"},
	callLinkErrors:      {"nvmlDeviceGetNvLinkErrorCounter"},
	callVirtualization:  {"nvmlDeviceGetVirtualizationMode"},
	callHostMode:        {"nvmlDeviceGetHostVgpuMode"},
	callHeterogeneous:   {"nvmlDeviceGetVgpuHeterogeneousMode"},
	callScheduler:       {"nvmlDeviceGetVgpuSchedulerState"},
	callSupportedVGPUs:  {"nvmlDeviceGetSupportedVgpus"},
	callCreatableVGPUs:  {"nvmlDeviceGetCreatableVgpus"},
	callActiveVGPUs:     {"nvmlDeviceGetActiveVgpus"},
	callTypeName:        {"nvmlVgpuTypeGetName"},
	callTypeClass:       {"nvmlVgpuTypeGetClass"},
	callTypeLicense:     {"nvmlVgpuTypeGetLicense"},
	callTypeFramebuffer: {"nvmlVgpuTypeGetFramebufferSize"},
	callTypeMax:         {"nvmlVgpuTypeGetMaxInstances"},
	callVGPUUUID:        {"nvmlVgpuInstanceGetUUID"},
	callVGPUVM:          {"nvmlVgpuInstanceGetVmID"},
	callVGPUType:        {"nvmlVgpuInstanceGetType"},
	callVGPUUsed:        {"nvmlVgpuInstanceGetFbUsage"},
	callVGPUDriver:      {"nvmlVgpuInstanceGetVmDriverVersion"},
	callVGPUInstance:    {"nvmlVgpuInstanceGetGpuInstanceId"},
	callVGPULicense:     {"nvmlVgpuInstanceGetLicenseInfo_v2", "nvmlVgpuInstanceGetLicenseInfo"},
	callLicense: {"nvmlDeviceGetGridLicensableFeatures_v4", "nvmlDeviceGetGridLicensableFeatures_v3",
		"nvmlDeviceGetGridLicensableFeatures_v2",
		"nvmlDeviceGetGridLicensableFeatures"},
	callEventSet:      {"nvmlEventSetCreate"},
	callEventRegister: {"nvmlDeviceRegisterEvents"},
	callEventWait:     {"nvmlEventSetWait_v2", "nvmlEventSetWait"},
	callEventFree:     {"nvmlEventSetFree"},
}
