package explain

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// TestALogNamesTheCause: the last known line counts, and lines that nobody knows name nothing.
func TestALogNamesTheCause(t *testing.T) {
	t.Parallel()
	for id, lines := range map[string][]string{
		"explain.log_driver": {"Traceback (most recent call last):",
			"RuntimeError: The NVIDIA driver on your system is too old (found version 12040)."},
		"explain.log_gpu_memory": {"epoch 1", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", ""},
		"explain.log_kernel":     {"RuntimeError: CUDA error: no kernel image is available for execution on the device"},
		"explain.log_no_gpu":     {"RuntimeError: No CUDA GPUs are available"},
		"explain.log_disk": {"CUDA out of memory, trying a smaller batch",
			"OSError: [Errno 28] No space left on device"},
		"explain.log_memory": {"numpy.core._exceptions._ArrayMemoryError: MemoryError"},
		"explain.log_module": {"ModuleNotFoundError: No module named 'flash_attn'"},
		"":                   {"epoch 3/3 loss 0.307", "KeyError: 'labels'"},
	} {
		if got := FromLog(lines); got.ID != id {
			t.Errorf("%v: want %q, got %q", lines, id, got.ID)
		}
	}
	if got := FromLog([]string{"ModuleNotFoundError: No module named '<script>'"}); !got.IsZero() {
		t.Errorf("what is no name of a module is not repeated, got %+v", got)
	}
	if got := FromLog([]string{"ModuleNotFoundError: No module named 'einops'"}); got.Args["Module"] != "einops" {
		t.Errorf("want the name of the module, got %+v", got)
	}
}

// TestALogIsAskedWhereTheReasonDoesNotKnow: what Kubernetes knows for sure stays.
func TestALogIsAskedWhereTheReasonDoesNotKnow(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{"explain.crash_code": true, "explain.job_code": true, "explain.crash": true,
		"explain.out_of_memory": false, "explain.image_missing": false, "": false} {
		if got := InLog(i18n.Text{ID: id}); got != want {
			t.Errorf("%q: want %v, got %v", id, want, got)
		}
	}
}
