package gpumetrics

import (
	"math"
	"net/http/httptest"
	"testing"
	"time"
)

// TestPodRangesOfARealPrometheus: containers add up, interfaces do, lo and the rows of one core are left out, and a pod
// of another name or namespace is not among them. With labels that are not honoured it is the same.
func TestPodRangesOfARealPrometheus(t *testing.T) {
	for name, honour := range map[string]bool{"honoured": true, "not honoured": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kubelet := httptest.NewServer(cadvisor(time.Now().Add(-time.Minute)))
			t.Cleanup(kubelet.Close)
			p, err := New(Config{URL: scrapedBy(t, realProgram(t), kubelet.URL, honour)})
			if err != nil {
				t.Fatal(err)
			}
			second, window := Span{Name: "test", Long: 20 * time.Second, Step: time.Second}, 4*time.Second
			last := func(r Ranges, line string) (v float64, known bool) {
				for _, p := range r.Line(line).Points {
					if p.Known {
						v, known = p.Value, true
					}
				}
				return v, known
			}
			near := func(v, want float64) bool { return math.Abs(v-want) <= want/4 }
			var cpu, network float64
			within(t, "half a core and 3000 bytes a second", func() bool {
				r, err := p.askPodRanges(podKey{"gpu-vision", "nb-0"}, second, window)
				cpu, _ = last(r, CPULine)
				network, _ = last(r, NetworkLine)
				return err == nil && near(cpu, 0.5) && near(network, 3000)
			})
			quiet, err := p.askPodRanges(podKey{"gpu-vision", "quiet-0"}, second, window)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range []string{CPULine, NetworkLine} {
				if v, known := last(quiet, line); !known || v != 0 {
					t.Errorf("%s of a quiet pod: want 0, got %v (known: %t)", line, v, known)
				}
			}
			for _, other := range []podKey{{"gpu-vision", "nb"}, {"gpu-speech", "nb-0"}} {
				r, err := p.askPodRanges(other, second, window)
				if err != nil || r.Line(CPULine).Known() || r.Line(NetworkLine).Known() {
					t.Errorf("%v: want nothing known, got %+v %v", other, r, err)
				}
			}
		})
	}
}

func TestTheSpanOverATime(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "1h", 59 * time.Minute: "1h", time.Hour: "6h",
		3 * 24 * time.Hour: "7d", 90 * 24 * time.Hour: "90d", 1000 * time.Hour * 24: "90d"} {
		if got := SpanOver(d).Name; got != want {
			t.Errorf("%s: want %s, got %s", d, want, got)
		}
	}
}

// TestLinesOfAnotherHistory stand at the points of the first; one that was asked a step later is not shifted.
func TestLinesOfAnotherHistory(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	line := func(name string, from int, values ...float64) Line {
		l := Line{Name: name}
		for i, v := range values {
			l.Points = append(l.Points, Point{At: start.Add(time.Duration(from+i) * time.Minute), Value: v, Known: true})
		}
		return l
	}
	gpu := Ranges{Lines: []Line{line("engine", 0, 1, 2, 3)}}
	got := gpu.With(Ranges{Lines: []Line{line(CPULine, 1, 20, 30, 40)}})
	points := got.Line(CPULine).Points
	if len(points) != 3 || points[0].Known || points[1].Value != 20 || points[2].Value != 30 ||
		!points[0].At.Equal(start) {
		t.Errorf("want them at the same moments, got %+v", points)
	}
	if len(gpu.Lines) != 1 {
		t.Error("the history that was added to has changed")
	}
	if alone := (Ranges{}).With(got); len(alone.Lines) != 2 {
		t.Errorf("want the other one, got %+v", alone)
	}
}
