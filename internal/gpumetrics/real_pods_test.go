package gpumetrics

import (
	"fmt"
	"strings"
	"testing"
)

// TestAnEndpointsHistoryIsThatOfAllItsPods asks a real Prometheus: the pods of a Deployment come and go, and those of
// others whose names begin alike are not among them.
func TestAnEndpointsHistoryIsThatOfAllItsPods(t *testing.T) {
	program := realProgram(t)
	names := map[string]bool{ // whether the pod is one of "chat"
		"chat-7d9fbc6b5c-x7k2p": true, "chat-5c4d8f-zz2v4": true,
		"chat-0": false, "chat-7d9fbc6b5c": false, "chat-bot-7d9fbc6b5c-x7k2p": false, "my-chat-7d9fbc6b5c-x7k2p": false,
		"chatx7d9fbc6b5c-x7k2p": false, "chat-7d9fbc6b5c-x7k2p-0": false,
	}
	var text strings.Builder
	text.WriteString("# TYPE DCGM_FI_PROF_GR_ENGINE_ACTIVE gauge\n")
	for name := range names {
		fmt.Fprintf(&text,
			"DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\",UUID=\"GPU-of-%s\",Hostname=\"n\",namespace=\"red\",pod=\"%s\",container=\"main\"} "+
				"0.5\n", name, name)
	}
	p, err := New(Config{URL: startPrometheus(t, program, text.String(), true)})
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, own := range names {
		if own {
			want++
		}
	}
	got := -1
	within(t, "the GPUs of all pods", func() bool {
		r, err := p.askRanges(podKey{"red", PodsOf("chat")}, SpanOf("1h"))
		if err == nil {
			got = r.Devices
		}
		return got >= want
	})
	if got != want {
		t.Errorf("want the GPUs of %d pods, got those of %d", want, got)
	}
	for name, own := range names {
		r, err := p.askRanges(podKey{"red", name}, SpanOf("1h"))
		if err != nil || r.Devices != 1 {
			t.Errorf("%s (of chat: %t): want its own GPU by its own name, got %d, %v", name, own, r.Devices, err)
		}
	}
}
