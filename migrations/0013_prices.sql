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

-- +goose Down
DROP INDEX meter_intervals_unknown;
DROP TABLE meter_sums;
DROP TABLE meter_sheets;
