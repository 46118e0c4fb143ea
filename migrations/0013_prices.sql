-- +goose Up

-- Sums of each line of the meter from the beginning of a month up to a moment, so that a statement need not add up the whole meter. They can be thrown away at any time.
CREATE TABLE meter_sheets (
  from_at  BIGINT NOT NULL,
  until_at BIGINT NOT NULL CHECK (until_at > from_at),
  PRIMARY KEY (from_at, until_at)
);
CREATE INDEX meter_sheets_until ON meter_sheets (until_at);

-- Times in microseconds: held before the month, held in it, and of it what nobody can tell.
CREATE TABLE meter_sums (
  from_at        BIGINT NOT NULL,
  until_at       BIGINT NOT NULL,
  workload       TEXT   NOT NULL,
  tenant         TEXT   NOT NULL,
  size_name      TEXT   NOT NULL,
  price_minor    BIGINT NOT NULL,
  price_currency TEXT   NOT NULL,
  before_us      BIGINT NOT NULL,
  held_us        BIGINT NOT NULL,
  unknown_us     BIGINT NOT NULL,
  PRIMARY KEY (from_at, until_at, workload, tenant, size_name, price_minor, price_currency),
  FOREIGN KEY (from_at, until_at) REFERENCES meter_sheets (from_at, until_at) ON DELETE CASCADE
);
CREATE INDEX meter_intervals_unknown ON meter_intervals (unknown_until) WHERE unknown_until IS NOT NULL;

-- What things cost, in thousandths of a minor unit, from when until when (NULL: until further notice). What has been charged by a row stays: it is ended, never changed or removed.
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

-- +goose Down
DROP TABLE prices;
DROP INDEX meter_intervals_unknown;
DROP TABLE meter_sums;
DROP TABLE meter_sheets;
