-- +goose Up

-- How a team shares a volume, as JSON; '{}' for storage of one person. Which volumes of its team a workload has, as JSON; '' for none.
ALTER TABLE volumes ADD COLUMN share TEXT NOT NULL DEFAULT '{}';
ALTER TABLE workloads ADD COLUMN mounts TEXT NOT NULL DEFAULT '';
CREATE INDEX workloads_mounting ON workloads (tenant) WHERE mounts <> '' AND state <> 'ended';

-- +goose Down
DROP INDEX workloads_mounting;
ALTER TABLE workloads DROP COLUMN mounts;
ALTER TABLE volumes DROP COLUMN share;
