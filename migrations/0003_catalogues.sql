-- +goose Up

-- What is on offer, as administrators wrote it: one row a revision, the highest version counts. Version 0 is the configuration's and has no row.
CREATE TABLE catalogues (
  version     BIGINT NOT NULL PRIMARY KEY CHECK (version > 0),
  text        TEXT   NOT NULL,
  author      TEXT   NOT NULL,
  author_name TEXT   NOT NULL,
  note        TEXT   NOT NULL,
  created_at  BIGINT NOT NULL
);

-- Topics are a closed list in the code. SQLite cannot change a check, so the table is made anew without one: else each new topic would cost this again.
CREATE TABLE outbox_before (seq BIGINT, at BIGINT, topic TEXT, id TEXT, tenant TEXT, person TEXT);
INSERT INTO outbox_before (seq, at, topic, id, tenant, person) SELECT seq, at, topic, id, tenant, person FROM outbox;
DROP TABLE outbox;
CREATE TABLE outbox (
  seq    BIGINT NOT NULL PRIMARY KEY,
  at     BIGINT NOT NULL,
  topic  TEXT   NOT NULL CHECK (topic <> ''),
  id     TEXT   NOT NULL,
  tenant TEXT   NOT NULL,
  person TEXT   NOT NULL
);
CREATE INDEX outbox_at ON outbox (at);
INSERT INTO outbox (seq, at, topic, id, tenant, person) SELECT seq, at, topic, id, tenant, person FROM outbox_before;
DROP TABLE outbox_before;

-- +goose Down
CREATE TABLE outbox_before (seq BIGINT, at BIGINT, topic TEXT, id TEXT, tenant TEXT, person TEXT);
INSERT INTO outbox_before (seq, at, topic, id, tenant, person) SELECT seq, at, topic, id, tenant, person FROM outbox
  WHERE topic IN ('workload', 'request', 'volume', 'session', 'inventory');
DROP TABLE outbox;
CREATE TABLE outbox (
  seq    BIGINT NOT NULL PRIMARY KEY,
  at     BIGINT NOT NULL,
  topic  TEXT   NOT NULL CHECK (topic IN ('workload', 'request', 'volume', 'session', 'inventory')),
  id     TEXT   NOT NULL,
  tenant TEXT   NOT NULL,
  person TEXT   NOT NULL
);
CREATE INDEX outbox_at ON outbox (at);
INSERT INTO outbox (seq, at, topic, id, tenant, person) SELECT seq, at, topic, id, tenant, person FROM outbox_before;
DROP TABLE outbox_before;
DROP TABLE catalogues;
