package blocks

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Metrics gives readings from one cache for all pages; no call but Ranges, PodRanges, CardRanges, Past and Hours waits
// for Prometheus.
type Metrics interface {
	Live(cluster, namespace, pod string) gpumetrics.Live
	// History is the GPU use of the last hour, oldest first, in per cent.
	History(ctx context.Context, cluster, namespace, pod string) []gpumetrics.Point
	// Fleet is what every device does; nil while nothing is known. It is the same value until something new is known.
	Fleet(cluster string) *gpumetrics.Fleet
	// Ranges is what a pod's devices did in a span; it waits for the first answer only, as long as the context lets it.
	// Faults: Unavailable.
	Ranges(ctx context.Context, cluster, namespace, pod string, span gpumetrics.Span) (gpumetrics.Ranges, error)
	// PodRanges is how much CPU and network a pod used in a span; as Ranges.
	PodRanges(ctx context.Context, cluster, namespace, pod string, span gpumetrics.Span) (gpumetrics.Ranges, error)
	// CardRanges is what a card did in a span, by its UUID; as Ranges.
	CardRanges(ctx context.Context, cluster, uuid string, span gpumetrics.Span) (gpumetrics.Ranges, error)
	// Past is what every device did in the hour that ends at a whole hour; as Ranges.
	Past(ctx context.Context, cluster string, until time.Time) (gpumetrics.PastUse, error)
	// Hours is the mean use of each model of card in the hours of a stretch; as Ranges.
	Hours(ctx context.Context, cluster string, from, until time.Time) (gpumetrics.HourlyUse, error)
	// Uses is how workloads have used their GPUs in the last day.
	Uses(cluster string) usage.EngineUses
}
