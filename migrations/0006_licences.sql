-- +goose Up

-- How many seats of its pool a workload takes: the counting rule of the product decided it when the workload was granted. Those of before took one.
ALTER TABLE workloads ADD COLUMN licence_seats BIGINT NOT NULL DEFAULT 1;
DROP INDEX workloads_holding;
DROP INDEX workloads_seats;
CREATE INDEX workloads_holding ON workloads (tenant, size_name, licence_pool, desired, state, licence_seats) WHERE desired = 'running' OR state = 'stopping';
CREATE INDEX workloads_seats ON workloads (licence_pool, tenant, desired, state, licence_seats) WHERE licence_pool <> '' AND (desired = 'running' OR state = 'stopping');
CREATE INDEX meter_intervals_until ON meter_intervals (until_at);

-- Nodes that lacked a licence when the workload was last told to run: a JSON list. It is part of what is applied, so it does not change while the workload runs.
ALTER TABLE workloads ADD COLUMN avoid_nodes TEXT NOT NULL DEFAULT 'null';

-- Licences that were bought, as an administrator entered or imported them.
CREATE TABLE licence_entitlements (
  id          TEXT   NOT NULL PRIMARY KEY,
  pool        TEXT   NOT NULL,
  reference   TEXT   NOT NULL,
  seats       BIGINT NOT NULL CHECK (seats > 0),
  from_at     BIGINT,
  until_at    BIGINT CHECK (until_at IS NULL OR from_at IS NULL OR until_at > from_at),
  origin      TEXT   NOT NULL,
  author      TEXT   NOT NULL,
  author_name TEXT   NOT NULL,
  created_at  BIGINT NOT NULL
);

-- What each licence server said last, and since when it says nothing.
CREATE TABLE licence_answers (
  source   TEXT   NOT NULL PRIMARY KEY,
  answer   TEXT   NOT NULL,
  tried_at BIGINT NOT NULL
);

-- What each vGPU was last known to say of its licence, and since when.
CREATE TABLE licence_devices (
  cluster    TEXT   NOT NULL,
  node       TEXT   NOT NULL,
  uuid       TEXT   NOT NULL,
  gpu_index  TEXT   NOT NULL,
  model      TEXT   NOT NULL,
  state      TEXT   NOT NULL,
  since      BIGINT NOT NULL,
  seen_at    BIGINT NOT NULL,
  expires_at BIGINT,
  PRIMARY KEY (cluster, node, uuid)
);

-- +goose Down
DROP TABLE licence_devices;
DROP TABLE licence_answers;
DROP TABLE licence_entitlements;
DROP INDEX meter_intervals_until;
DROP INDEX workloads_seats;
DROP INDEX workloads_holding;
ALTER TABLE workloads DROP COLUMN avoid_nodes;
ALTER TABLE workloads DROP COLUMN licence_seats;
CREATE INDEX workloads_holding ON workloads (tenant, size_name, licence_pool, desired, state) WHERE desired = 'running' OR state = 'stopping';
CREATE INDEX workloads_seats ON workloads (licence_pool, tenant, desired, state) WHERE licence_pool <> '' AND (desired = 'running' OR state = 'stopping');
