-- +goose Up

-- What was sent with an idempotency key, as a hash, so that the key is not taken for another wish. Empty for requests of before, which then are taken for the same.
ALTER TABLE requests ADD COLUMN fingerprint TEXT NOT NULL DEFAULT '';

-- What was refused at once, with the facts that the rules could see then: for the preview of other rules and quotas. It goes after a while.
CREATE TABLE refusals (
  id         TEXT   NOT NULL PRIMARY KEY,
  kind       TEXT   NOT NULL,
  asker      TEXT   NOT NULL,
  asker_name TEXT   NOT NULL,
  tenant     TEXT   NOT NULL,
  wish       TEXT   NOT NULL,
  decision   TEXT   NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX refusals_newest ON refusals (created_at, id);

-- The roles that a session was used with last, as a hash; when they change the session gets another secret. The one of before counts for a moment, for calls under way.
ALTER TABLE sessions ADD COLUMN roles TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN former_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN renewed_at BIGINT;

-- +goose Down
ALTER TABLE sessions DROP COLUMN renewed_at;
ALTER TABLE sessions DROP COLUMN former_hash;
ALTER TABLE sessions DROP COLUMN roles;
DROP TABLE refusals;
ALTER TABLE requests DROP COLUMN fingerprint;
