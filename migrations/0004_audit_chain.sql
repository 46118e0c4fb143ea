-- +goose Up

-- Each event holds a hash over itself and the event before it: whoever changes or takes out one breaks the chain at that place. Events from before this
-- migration have none.
ALTER TABLE audit_events ADD COLUMN link TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE audit_events DROP COLUMN link;
