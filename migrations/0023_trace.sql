-- +goose Up

-- The trace of the call that told a workload what to do, as W3C's traceparent has it; '' without tracing.
ALTER TABLE workloads ADD COLUMN trace TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE workloads DROP COLUMN trace;
