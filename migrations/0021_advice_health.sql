-- +goose Up

-- Advice to take another size that somebody has put away; it stays away while it says the same.
CREATE TABLE advice_dismissals (
  workload    TEXT   NOT NULL PRIMARY KEY REFERENCES workloads (id),
  kind        TEXT   NOT NULL CHECK (kind IN ('smaller', 'larger')),
  size_name   TEXT   NOT NULL,
  author      TEXT   NOT NULL,
  author_name TEXT   NOT NULL,
  created_at  BIGINT NOT NULL
);
CREATE INDEX workloads_ended ON workloads (updated_at) WHERE state = 'ended';

-- Cards and nodes that an administrator has marked as bad. An empty card is the whole node.
CREATE TABLE bad_hardware (
  cluster     TEXT   NOT NULL,
  node        TEXT   NOT NULL,
  card        TEXT   NOT NULL,
  note        TEXT   NOT NULL,
  author      TEXT   NOT NULL,
  author_name TEXT   NOT NULL,
  created_at  BIGINT NOT NULL,
  PRIMARY KEY (cluster, node, card)
);

-- Nodes that were marked as bad when a workload was last told to run: its pod may not go there.
ALTER TABLE workloads ADD COLUMN bad_nodes TEXT NOT NULL DEFAULT 'null';

-- +goose Down
ALTER TABLE workloads DROP COLUMN bad_nodes;
DROP TABLE bad_hardware;
DROP INDEX workloads_ended;
DROP TABLE advice_dismissals;
