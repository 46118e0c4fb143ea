-- +goose Up

-- How busy the devices of each line of the meter were in a month of the site's time zone, as far as the metrics of its cluster tell: microseconds of one device, with several
-- the mean of them. busy_us is the use times the time. Nothing is ever charged on it.
CREATE TABLE engine_uses (
  month          TEXT   NOT NULL,
  workload       TEXT   NOT NULL,
  tenant         TEXT   NOT NULL,
  size_name      TEXT   NOT NULL,
  price_minor    BIGINT NOT NULL,
  price_currency TEXT   NOT NULL,
  measured_us    BIGINT NOT NULL CHECK (measured_us >= 0),
  busy_us        BIGINT NOT NULL CHECK (busy_us >= 0 AND busy_us <= measured_us),
  idle_us        BIGINT NOT NULL CHECK (idle_us >= 0 AND idle_us <= measured_us),
  PRIMARY KEY (month, workload, tenant, size_name, price_minor, price_currency)
);

-- Up to when engine_uses has what a cluster's metrics told.
CREATE TABLE engine_marks (
  cluster  TEXT   NOT NULL PRIMARY KEY,
  until_at BIGINT NOT NULL
);

-- +goose Down
DROP TABLE engine_marks;
DROP TABLE engine_uses;
