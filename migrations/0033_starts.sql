-- +goose Up

-- Each start of a workload: what was estimated when it was told to run, and when it got its place after it had waited, and what came of it. Later estimates rest on those that are over.
CREATE TABLE starts (
  workload     TEXT    NOT NULL,
  generation   BIGINT  NOT NULL,
  size_name    TEXT    NOT NULL,
  kind         TEXT    NOT NULL,
  cluster      TEXT    NOT NULL,
  waited       BOOLEAN NOT NULL,
  told_at      BIGINT  NOT NULL,
  given_at     BIGINT  NOT NULL,
  from_at      BIGINT,
  until_at     BIGINT CHECK (until_at >= from_at),
  basis        TEXT    NOT NULL,
  placed_at    BIGINT,
  placed_from  BIGINT,
  placed_until BIGINT CHECK (placed_until >= placed_from),
  ready_at     BIGINT,
  PRIMARY KEY (workload, generation)
);
CREATE INDEX starts_ready ON starts (size_name, kind, ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX starts_told ON starts (told_at);

-- How long the requests of a team waited for people.
CREATE INDEX requests_decided ON requests (tenant, decided_at) WHERE kind = 'start' AND state <> 'pending';

-- +goose Down
DROP INDEX requests_decided;
DROP TABLE starts;
