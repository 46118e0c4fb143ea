-- +goose Up

-- What counts as idle and what follows, as JSON: one row a revision, the highest version counts.
CREATE TABLE idle_settings (
  version     BIGINT NOT NULL PRIMARY KEY CHECK (version > 0),
  settings    TEXT   NOT NULL,
  author      TEXT   NOT NULL,
  author_name TEXT   NOT NULL,
  created_at  BIGINT NOT NULL
);

-- Up to when it is known how hard the pods of a cluster worked.
CREATE TABLE idle_looks (
  cluster  TEXT   NOT NULL PRIMARY KEY,
  until_at BIGINT NOT NULL
);

-- Since when a workload is idle, what its owner was told of that, and whether somebody still needs it. The highest use is in hundredths of a per cent.
CREATE TABLE idle_marks (
  workload   TEXT   NOT NULL PRIMARY KEY REFERENCES workloads (id),
  generation BIGINT NOT NULL,
  below      BIGINT NOT NULL,
  since_at   BIGINT,
  high       BIGINT NOT NULL,
  warned_at  BIGINT,
  stops_at   BIGINT,
  kept_until BIGINT,
  kept_by    TEXT   NOT NULL
);

-- +goose Down
DROP TABLE idle_marks;
DROP TABLE idle_looks;
DROP TABLE idle_settings;
