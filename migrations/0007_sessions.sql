-- +goose Up

-- Groups follow the sign-in provider while somebody is signed in. The refresh token is sealed with the portal's key; empty where the provider gave none. groups_at is when
-- the provider last told the groups, asked_at since when somebody asks anew, NULL when nobody does.
ALTER TABLE sessions ADD COLUMN refresh_token TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN groups_at BIGINT;
ALTER TABLE sessions ADD COLUMN asked_at BIGINT;

-- Of a session of before nobody can ask, and its groups would count until it ends: people sign in once more.
DELETE FROM codes;
DELETE FROM sessions;

-- When the provider said that the account is switched off; a sign-in lifts it, other than disabled, which is the portal's own.
ALTER TABLE people ADD COLUMN refused_at BIGINT;

-- +goose Down
ALTER TABLE people DROP COLUMN refused_at;
ALTER TABLE sessions DROP COLUMN asked_at;
ALTER TABLE sessions DROP COLUMN groups_at;
ALTER TABLE sessions DROP COLUMN refresh_token;
