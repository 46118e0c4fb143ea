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

-- +goose Down
DROP INDEX workloads_ended;
DROP TABLE advice_dismissals;
