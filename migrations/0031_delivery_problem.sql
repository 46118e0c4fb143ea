-- +goose Up

-- Why the last attempt failed, as a text for people in JSON; '{}' where none did, and of those before this column.
ALTER TABLE deliveries ADD COLUMN problem TEXT NOT NULL DEFAULT '{}';

-- +goose Down
ALTER TABLE deliveries DROP COLUMN problem;
