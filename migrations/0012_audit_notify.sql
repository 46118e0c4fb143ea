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

-- What a person wants to hear of, and how, as JSON.
CREATE TABLE notice_preferences (
  person TEXT NOT NULL PRIMARY KEY REFERENCES people (id),
  wishes TEXT NOT NULL
);

-- Where chat messages and webhooks go: of a person, or of a team. The address itself, and what it is signed with, is sealed with the portal's key.
CREATE TABLE notice_addresses (
  id         TEXT   NOT NULL PRIMARY KEY,
  channel    TEXT   NOT NULL,
  person     TEXT   NOT NULL REFERENCES people (id),
  tenant     TEXT   NOT NULL,
  host       TEXT   NOT NULL,
  sealed     TEXT   NOT NULL,
  kinds      TEXT   NOT NULL,
  created_at BIGINT NOT NULL
);

-- Messages on their way. One event makes one message for a recipient and channel; 0 is no event but a test.
CREATE TABLE deliveries (
  id         TEXT   NOT NULL PRIMARY KEY,
  event      BIGINT NOT NULL,
  kind       TEXT   NOT NULL,
  recipient  TEXT   NOT NULL,
  person     TEXT   NOT NULL,
  name       TEXT   NOT NULL,
  address    TEXT   NOT NULL,
  channel    TEXT   NOT NULL,
  notice     TEXT   NOT NULL,
  state      TEXT   NOT NULL CHECK (state IN ('due', 'sending', 'sent', 'failed')),
  attempts   BIGINT NOT NULL,
  next_at    BIGINT NOT NULL,
  error      TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX deliveries_once ON deliveries (event, recipient, channel) WHERE event > 0;
CREATE INDEX deliveries_due ON deliveries (next_at) WHERE state IN ('due', 'sending');
CREATE INDEX deliveries_newest ON deliveries (created_at, id);
CREATE INDEX deliveries_failed ON deliveries (created_at, id) WHERE state = 'failed';

-- The last audit event that was looked at for deliveries: at first the last one there is, for nobody wants to hear of what is long past.
CREATE TABLE notice_cursor (
  id  BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
  seq BIGINT NOT NULL
);
INSERT INTO notice_cursor (id, seq) SELECT 1, audit FROM counters WHERE id = 1;

-- +goose Down
DROP TABLE notice_cursor;
DROP TABLE deliveries;
DROP TABLE notice_addresses;
DROP TABLE notice_preferences;
DROP INDEX audit_events_at;
ALTER TABLE audit_events DROP COLUMN changes;
ALTER TABLE audit_events DROP COLUMN credential_name;
ALTER TABLE audit_events DROP COLUMN credential;
ALTER TABLE audit_events DROP COLUMN via;
ALTER TABLE audit_events DROP COLUMN behalf_name;
ALTER TABLE audit_events DROP COLUMN behalf;
