-- +goose Up

-- When storage was there, of which size and whose. What it costs follows from the price list, which keeps what counted when.
CREATE TABLE storage_intervals (
  volume     TEXT   NOT NULL,
  tenant     TEXT   NOT NULL,
  owner      TEXT   NOT NULL,
  owner_name TEXT   NOT NULL,
  gib        BIGINT NOT NULL,
  from_at    BIGINT NOT NULL,
  until_at   BIGINT CHECK (until_at >= from_at),
  PRIMARY KEY (volume, from_at)
);
CREATE UNIQUE INDEX storage_intervals_open ON storage_intervals (volume) WHERE until_at IS NULL;
CREATE INDEX storage_intervals_until ON storage_intervals (until_at);

-- +goose Down
DROP TABLE storage_intervals;
