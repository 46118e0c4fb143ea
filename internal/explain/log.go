package explain

import (
	"regexp"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// logLines are what programs write when they fail for a reason that somebody can do something about, as CUDA, PyTorch,
// JAX, vLLM and the operating system put it.
var logLines = []row{
	{[]string{"NVIDIA driver on your system is too old", "CUDA driver version is insufficient",
		"cudaErrorInsufficientDriver", "forward compatibility was attempted on non supported HW"}, "explain.log_driver",
		true},
	{[]string{"CUDA out of memory", "CUDA error: out of memory", "torch.OutOfMemoryError", "torch.cuda.OutOfMemoryError",
		"cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY", "No available memory for the cache blocks"},
		"explain.log_gpu_memory", true},
	{[]string{"no kernel image is available for execution", "cudaErrorNoKernelImageForDevice"}, "explain.log_kernel",
		true},
	{[]string{"No CUDA GPUs are available", "no CUDA-capable device is detected", "cudaErrorNoDevice"},
		"explain.log_no_gpu", true},
	{[]string{"No space left on device"}, "explain.log_disk", true},
	{[]string{"MemoryError", "std::bad_alloc", "DefaultCPUAllocator: can't allocate memory"}, "explain.log_memory", true},
}

// missingModule is Python's own sentence; the name of a module is letters, digits, dots and underscores.
var missingModule = regexp.MustCompile(`ModuleNotFoundError: No module named '([A-Za-z0-9_.]{1,80})'`)

// FromLog is the cause that the end of a program's log names, with what can be done; zero where it names none. The last
// line that does counts: what went before may have been caught.
func FromLog(lines []string) i18n.Text {
	for _, line := range slices.Backward(lines) {
		if m := missingModule.FindStringSubmatch(line); m != nil {
			return i18n.T("explain.log_module", "Module", m[1])
		}
		if r, ok := match(logLines, line); ok {
			return i18n.T(r.id)
		}
	}
	return i18n.Text{}
}

// inLog are the reasons that leave the cause to the log.
var inLog = []string{"explain.crash", "explain.crash_code", "explain.job_code"}

// InLog reports whether a reason says no more than that a program ended by itself: its log knows why.
func InLog(reason i18n.Text) bool { return slices.Contains(inLog, reason.ID) }
