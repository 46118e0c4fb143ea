package gpus

import (
	"hash/fnv"
	"math"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// LoadAnnotation on a pod says how busy it keeps its GPU and its CPUs, 0 to 1.
const LoadAnnotation = "devstack.gpu-portal.example/load"

// Loads are the loads that the control API has set, of GPUs or of CPUs, or the parts of their memory that pods are to
// fill, by namespace/name of the pod.
type Loads struct {
	mu  sync.Mutex
	set map[string]float64
}

// Set makes a pod busy to this degree; NaN gives it back to chance.
func (l *Loads) Set(pod string, value float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.set == nil {
		l.set = map[string]float64{}
	}
	if math.IsNaN(value) {
		delete(l.set, pod)
		return
	}
	l.set[pod] = value
}

// All are the loads that were set.
func (l *Loads) All() map[string]float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]float64{}
	for k, v := range l.set {
		all[k] = v
	}
	return all
}

func (l *Loads) setFor(pod *corev1.Pod) (float64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	value, ok := l.set[pod.Namespace+"/"+pod.Name]
	return value, ok
}

// Of says how busy a pod keeps its GPU, or its CPUs, now: as set, as annotated, or a wave of its own with some noise. A
// pod that does not run keeps nothing busy; a load of 0 is exactly 0.
func (l *Loads) Of(pod *corev1.Pod, now time.Time) float64 {
	if pod.Status.Phase != corev1.PodRunning {
		return 0
	}
	seed := seedOf(string(pod.UID))
	noise := 0.03 * (chance(seed, float64(now.UnixMilli()/1000)) - 0.5)
	value, ok := l.setFor(pod)
	if !ok {
		annotated, err := strconv.ParseFloat(pod.Annotations[LoadAnnotation], 64)
		value, ok = annotated, err == nil
	}
	if ok {
		if value <= 0 {
			return 0
		}
		return clamp(value + noise)
	}
	middle, swing := 0.45+0.4*chance(seed, 1), 0.05+0.2*chance(seed, 2)
	period := 60 + 240*chance(seed, 3)
	return clamp(middle + swing*math.Sin(2*math.Pi*float64(now.UnixMilli())/1000/period) + noise)
}

// memoryOf is the part of its memory that a pod has filled: a program fills it in its first half minute and keeps it,
// busy or not. How much that is was set, or is left to chance.
func (l *Loads) memoryOf(pod *corev1.Pod, now time.Time) float64 {
	if pod.Status.Phase != corev1.PodRunning || pod.Status.StartTime == nil {
		return 0
	}
	ramp := clamp(now.Sub(pod.Status.StartTime.Time).Seconds() / 30)
	full, ok := l.setFor(pod)
	if !ok {
		full = 0.2 + 0.65*chance(seedOf(string(pod.UID)), 4)
	}
	return ramp * full
}

func clamp(v float64) float64 { return math.Max(0, math.Min(1, v)) }

func seedOf(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}

// chance is a number from 0 to 1 that is the same for the same seed and step.
func chance(seed uint64, step float64) float64 {
	x := seed ^ math.Float64bits(step)*0x9e3779b97f4a7c15
	x ^= x >> 31
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 29
	return float64(x>>11) / (1 << 53)
}
