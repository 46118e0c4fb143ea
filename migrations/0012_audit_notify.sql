-- +goose Up

-- From where and in whose place something was done, and what was before and after. The link of an event holds these fields only where one of them says something, so the
-- links of older events go on to hold.
ALTER TABLE audit_events ADD COLUMN behalf TEXT NOT NULL DEFAULT '';
ALTER TABLE audit_events ADD COLUMN behalf_name TEXT NOT NULL DEFAULT '';
ALTER TABLE audit_events ADD COLUMN via TEXT NOT NULL DEFAULT '';
ALTER TABLE audit_events ADD COLUMN credential TEXT NOT NULL DEFAULT '';
ALTER TABLE audit_events ADD COLUMN credential_name TEXT NOT NULL DEFAULT '';
ALTER TABLE audit_events ADD COLUMN changes TEXT NOT NULL DEFAULT '';
CREATE INDEX audit_events_at ON audit_events (at);

-- +goose Down
DROP INDEX audit_events_at;
ALTER TABLE audit_events DROP COLUMN changes;
ALTER TABLE audit_events DROP COLUMN credential_name;
ALTER TABLE audit_events DROP COLUMN credential;
ALTER TABLE audit_events DROP COLUMN via;
ALTER TABLE audit_events DROP COLUMN behalf_name;
ALTER TABLE audit_events DROP COLUMN behalf;
