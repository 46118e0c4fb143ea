-- +goose Up

-- What the physical cards of a cluster did on a day of the site's time zone, by model. All are card time in 840ths of a card times milliseconds.
CREATE TABLE fleet_days (
  day      TEXT   NOT NULL,
  cluster  TEXT   NOT NULL,
  model    TEXT   NOT NULL,
  physical BIGINT NOT NULL,
  ours     BIGINT NOT NULL,
  others   BIGINT NOT NULL,
  free     BIGINT NOT NULL,
  broken   BIGINT NOT NULL,
  unknown  BIGINT NOT NULL,
  PRIMARY KEY (day, cluster, model)
);

-- What a cluster had when it was seen last: up to then fleet_days is counted.
CREATE TABLE fleet_samples (
  cluster  TEXT   NOT NULL PRIMARY KEY,
  taken_at BIGINT NOT NULL,
  stock    TEXT   NOT NULL
);

-- +goose Down
DROP TABLE fleet_samples;
DROP TABLE fleet_days;
