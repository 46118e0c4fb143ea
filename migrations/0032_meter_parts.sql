-- +goose Up

-- How much of cards is held, in 840ths of one; 0 without a GPU, NULL for what was metered before this was written down. And on which cluster, as looking up a million workloads
-- takes longer than adding up their time.
ALTER TABLE meter_intervals ADD COLUMN parts BIGINT;
ALTER TABLE meter_intervals ADD COLUMN cluster TEXT NOT NULL DEFAULT '';
CREATE INDEX meter_intervals_partless ON meter_intervals (from_at) WHERE parts IS NULL;

-- +goose Down
DROP INDEX meter_intervals_partless;
ALTER TABLE meter_intervals DROP COLUMN cluster;
ALTER TABLE meter_intervals DROP COLUMN parts;
