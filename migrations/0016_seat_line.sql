-- +goose Up

-- A pending request that waits for nothing but seats of a licence pool: which pool, and since when. "" for all others.
ALTER TABLE requests ADD COLUMN seat_pool TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN seat_since BIGINT;
CREATE INDEX requests_seat_line ON requests (seat_since, id, seat_pool) WHERE state = 'pending' AND seat_pool <> '';

-- What an administrator decided about a licence pool in the portal, in place of the settings.
CREATE TABLE licence_pools (
  name        TEXT   NOT NULL PRIMARY KEY,
  when_full   TEXT   NOT NULL CHECK (when_full IN ('refuse', 'queue')),
  author      TEXT   NOT NULL,
  author_name TEXT   NOT NULL,
  changed_at  BIGINT NOT NULL
);

-- +goose Down
DROP TABLE licence_pools;
DROP INDEX requests_seat_line;
ALTER TABLE requests DROP COLUMN seat_since;
ALTER TABLE requests DROP COLUMN seat_pool;
