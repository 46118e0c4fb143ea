-- +goose Up

-- When a team's volume goes that its owners have deleted, until when it can be taken back; and what the cluster said when it would not let it grow, as JSON.
ALTER TABLE volumes ADD COLUMN goes_at BIGINT;
ALTER TABLE volumes ADD COLUMN refused TEXT NOT NULL DEFAULT '{}';
CREATE INDEX volumes_shared ON volumes (cluster) WHERE share <> '{}';

-- What the cluster last said of the claim of a team's volume, as JSON.
CREATE TABLE volume_claims (
  volume  TEXT   NOT NULL PRIMARY KEY REFERENCES volumes (name) ON DELETE CASCADE,
  state   TEXT   NOT NULL,
  seen_at BIGINT NOT NULL
);

-- +goose Down
DROP TABLE volume_claims;
DROP INDEX volumes_shared;
ALTER TABLE volumes DROP COLUMN refused;
ALTER TABLE volumes DROP COLUMN goes_at;
