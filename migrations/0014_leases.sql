-- +goose Up

-- From when the time counts for which unused storage is kept (NULL: it is used, or kept for ever), and when its end was last announced, and how many seconds ahead.
ALTER TABLE volumes ADD COLUMN unused_from BIGINT;
ALTER TABLE volumes ADD COLUMN warned_at BIGINT;
ALTER TABLE volumes ADD COLUMN warned_for BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE volumes DROP COLUMN warned_for;
ALTER TABLE volumes DROP COLUMN unused_from;
ALTER TABLE volumes DROP COLUMN warned_at;
