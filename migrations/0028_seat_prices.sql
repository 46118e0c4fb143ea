-- +goose Up

-- Which licence seats a stretch of the meter held, by the product's counting rule when it was granted: "" and 0 for none. What they cost follows from the price list.
ALTER TABLE meter_intervals ADD COLUMN seat_pool TEXT NOT NULL DEFAULT '';
ALTER TABLE meter_intervals ADD COLUMN seats BIGINT NOT NULL DEFAULT 0;
UPDATE meter_intervals SET
  seat_pool = COALESCE((SELECT w.licence_pool FROM workloads AS w WHERE w.id = meter_intervals.workload AND w.size_name = meter_intervals.size_name), ''),
  seats = COALESCE((SELECT CASE WHEN w.licence_pool = '' THEN 0 WHEN w.licence_seats < 1 THEN 1 ELSE w.licence_seats END
    FROM workloads AS w WHERE w.id = meter_intervals.workload AND w.size_name = meter_intervals.size_name), 0)
WHERE until_at IS NULL;
CREATE INDEX meter_intervals_seats ON meter_intervals (workload, from_at) WHERE seat_pool <> '';

-- The list may say what a seat costs; a check cannot be changed in both databases but by a new table.
CREATE TABLE prices_before AS SELECT * FROM prices;
DROP TABLE prices;
CREATE TABLE prices (
  id          TEXT   NOT NULL PRIMARY KEY,
  kind        TEXT   NOT NULL CHECK (kind IN ('size', 'card', 'cpu', 'memory', 'storage', 'seat')),
  subject     TEXT   NOT NULL,
  tenant      TEXT   NOT NULL,
  mills       BIGINT NOT NULL CHECK (mills >= 0),
  from_at     BIGINT NOT NULL,
  until_at    BIGINT CHECK (until_at >= from_at),
  author      TEXT   NOT NULL,
  author_name TEXT   NOT NULL,
  created_at  BIGINT NOT NULL
);
INSERT INTO prices (id, kind, subject, tenant, mills, from_at, until_at, author, author_name, created_at) SELECT id, kind, subject, tenant, mills, from_at, until_at, author, author_name, created_at FROM prices_before;
DROP TABLE prices_before;

-- +goose Down
CREATE TABLE prices_before AS SELECT * FROM prices;
DROP TABLE prices;
CREATE TABLE prices (
  id          TEXT   NOT NULL PRIMARY KEY,
  kind        TEXT   NOT NULL CHECK (kind IN ('size', 'card', 'cpu', 'memory', 'storage')),
  subject     TEXT   NOT NULL,
  tenant      TEXT   NOT NULL,
  mills       BIGINT NOT NULL CHECK (mills >= 0),
  from_at     BIGINT NOT NULL,
  until_at    BIGINT CHECK (until_at >= from_at),
  author      TEXT   NOT NULL,
  author_name TEXT   NOT NULL,
  created_at  BIGINT NOT NULL
);
INSERT INTO prices (id, kind, subject, tenant, mills, from_at, until_at, author, author_name, created_at) SELECT id, kind, subject, tenant, mills, from_at, until_at, author, author_name, created_at FROM prices_before WHERE kind <> 'seat';
DROP TABLE prices_before;
DROP INDEX meter_intervals_seats;
ALTER TABLE meter_intervals DROP COLUMN seats;
ALTER TABLE meter_intervals DROP COLUMN seat_pool;
