-- +goose Up

-- Nodes and cards that an administrator has called bad. A card goes by its UUID; the node is where it was then.
CREATE TABLE hardware_marks (
  cluster     TEXT   NOT NULL,
  kind        TEXT   NOT NULL CHECK (kind IN ('node', 'card')),
  name        TEXT   NOT NULL,
  node        TEXT   NOT NULL,
  note        TEXT   NOT NULL,
  author      TEXT   NOT NULL,
  author_name TEXT   NOT NULL,
  created_at  BIGINT NOT NULL,
  PRIMARY KEY (cluster, kind, name)
);

-- +goose Down
DROP TABLE hardware_marks;
