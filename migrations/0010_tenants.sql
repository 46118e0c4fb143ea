-- +goose Up

-- What was saved about a team over the configuration, or of a team that was made by hand: one row a revision, the highest version of each team counts.
CREATE TABLE tenant_revisions (
  tenant      TEXT   NOT NULL,
  version     BIGINT NOT NULL CHECK (version > 0),
  saved       TEXT   NOT NULL,
  author      TEXT   NOT NULL,
  author_name TEXT   NOT NULL,
  note        TEXT   NOT NULL,
  created_at  BIGINT NOT NULL,
  PRIMARY KEY (tenant, version)
);

-- Who has a role in a team by hand, beside what groups give.
CREATE TABLE tenant_members (
  tenant   TEXT   NOT NULL,
  person   TEXT   NOT NULL REFERENCES people (id),
  role     TEXT   NOT NULL CHECK (role IN ('developer', 'owner', 'approver')),
  added_by TEXT   NOT NULL,
  added_at BIGINT NOT NULL,
  PRIMARY KEY (tenant, person, role)
);
CREATE INDEX tenant_members_person ON tenant_members (person);

-- Whose eyes an administrator looks through, read only, until when. NULL for their own.
ALTER TABLE sessions ADD COLUMN acting_as TEXT;
ALTER TABLE sessions ADD COLUMN acting_until BIGINT;

-- +goose Down
ALTER TABLE sessions DROP COLUMN acting_until;
ALTER TABLE sessions DROP COLUMN acting_as;
DROP TABLE tenant_members;
DROP TABLE tenant_revisions;
