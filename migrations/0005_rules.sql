-- +goose Up

-- Whose word a pending request asks for, from when on: the keys of identity.Party. "spoken:" and a person is somebody whose word does not count any more, the asker among
-- them. The rows of a request go when it is decided.
CREATE TABLE request_asks (
  request TEXT   NOT NULL REFERENCES requests (id) ON DELETE CASCADE,
  asks    TEXT   NOT NULL,
  from_at BIGINT NOT NULL,
  PRIMARY KEY (request, asks)
);
INSERT INTO request_asks (request, asks, from_at) SELECT id, 'role:approver', created_at FROM requests WHERE state = 'pending';
INSERT INTO request_asks (request, asks, from_at) SELECT id, 'role:admin', created_at FROM requests WHERE state = 'pending';
INSERT INTO request_asks (request, asks, from_at) SELECT id, 'role:approver@' || tenant, created_at FROM requests WHERE state = 'pending';
INSERT INTO request_asks (request, asks, from_at) SELECT id, 'spoken:' || asker, created_at FROM requests WHERE state = 'pending';

-- The size that was asked for, to find similar requests. Empty for those of before.
ALTER TABLE requests ADD COLUMN size_name TEXT NOT NULL DEFAULT '';
CREATE INDEX requests_size ON requests (size_name, created_at, id);

-- The administrators' rules as they wrote them: one row a revision, the highest version counts. Version 0 is the configuration's and has no row.
CREATE TABLE rules (
  version     BIGINT NOT NULL PRIMARY KEY CHECK (version > 0),
  text        TEXT   NOT NULL,
  author      TEXT   NOT NULL,
  author_name TEXT   NOT NULL,
  note        TEXT   NOT NULL,
  created_at  BIGINT NOT NULL
);

-- Who decides requests in whose place, from when until when.
CREATE TABLE stand_ins (
  id         TEXT   NOT NULL PRIMARY KEY,
  person     TEXT   NOT NULL REFERENCES people (id),
  stand_in   TEXT   NOT NULL REFERENCES people (id),
  from_at    BIGINT NOT NULL,
  until_at   BIGINT NOT NULL CHECK (until_at > from_at),
  created_at BIGINT NOT NULL
);
CREATE INDEX stand_ins_stand_in ON stand_ins (stand_in, until_at);
CREATE INDEX stand_ins_person ON stand_ins (person, until_at);

-- +goose Down
DROP TABLE stand_ins;
DROP TABLE rules;
DROP INDEX requests_size;
ALTER TABLE requests DROP COLUMN size_name;
DROP TABLE request_asks;
