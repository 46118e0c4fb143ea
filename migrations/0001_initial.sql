-- +goose Up

-- One SQL for SQLite and PostgreSQL: timestamps are BIGINT microseconds since 1970 in UTC (exact, sortable and the same
-- on both; TIMESTAMPTZ has no counterpart in SQLite), NULL where something has not happened; documents are JSON in
-- TEXT; numbers that order rows are given out by the row in counters, because neither AUTOINCREMENT nor IDENTITY is
-- portable and neither follows the order of commits.

CREATE TABLE people (
  id          TEXT    NOT NULL PRIMARY KEY,
  issuer      TEXT    NOT NULL,
  subject     TEXT    NOT NULL,
  name        TEXT    NOT NULL,
  email       TEXT    NOT NULL,
  group_names TEXT    NOT NULL,
  seen_at     BIGINT,
  -- Since when an administrator has disabled the account, who did and why.
  disabled_at   BIGINT,
  disabled_by   TEXT NOT NULL DEFAULT '',
  disabled_note TEXT NOT NULL DEFAULT '',
  refused_at  BIGINT,
  -- When the provider last told of the person; NULL after it ended the last session that could ask. API tokens count by
  -- it.
  confirmed_at BIGINT,
  -- What the portal need not show the person again: a JSON list of marks, or empty.
  acknowledged TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX people_issuer_subject ON people (issuer, subject);
-- The list of people in its order, with all that a search looks through.
CREATE INDEX people_name ON people (name, id, email);

CREATE TABLE sessions (
  id            TEXT   NOT NULL PRIMARY KEY,
  secret_hash   TEXT   NOT NULL,
  person        TEXT   NOT NULL REFERENCES people (id),
  created_at    BIGINT NOT NULL,
  seen_at       BIGINT NOT NULL,
  ends_at       BIGINT NOT NULL,
  id_token      TEXT   NOT NULL,
  parent        TEXT   REFERENCES sessions (id) ON DELETE CASCADE,
  workload      TEXT   NOT NULL,
  refresh_token TEXT   NOT NULL DEFAULT '',
  groups_at     BIGINT,
  asked_at      BIGINT,
  impersonates     TEXT,
  impersonation_until  BIGINT,
  roles         TEXT   NOT NULL DEFAULT '',
  former_hash   TEXT   NOT NULL DEFAULT '',
  renewed_at    BIGINT,
  -- Where the sign-in came from: network address and User-Agent, as the browser said.
  address       TEXT   NOT NULL DEFAULT '',
  agent         TEXT   NOT NULL DEFAULT '',
  -- sid of the ID token, which logout tokens name.
  provider_session TEXT NOT NULL DEFAULT ''
);
CREATE INDEX sessions_person ON sessions (person);
CREATE INDEX sessions_provider_session ON sessions (provider_session);
CREATE INDEX sessions_parent ON sessions (parent);
CREATE INDEX sessions_ends_at ON sessions (ends_at);

-- Logout tokens of the sign-in provider that were taken, until they expire: each works once.
CREATE TABLE logouts (
  id         TEXT   NOT NULL PRIMARY KEY,
  expires_at BIGINT NOT NULL
);

CREATE TABLE tokens (
  id           TEXT   NOT NULL PRIMARY KEY,
  name         TEXT   NOT NULL,
  secret_hash  TEXT   NOT NULL,
  person       TEXT   NOT NULL REFERENCES people (id),
  created_at   BIGINT NOT NULL,
  expires_at   BIGINT,
  last_used_at BIGINT,
  announced_at BIGINT -- when the owner was told that it expires soon
);
CREATE INDEX tokens_person ON tokens (person, created_at);
CREATE INDEX tokens_created ON tokens (created_at);

-- Panels that people show in pages of other sites. The address itself is signed and kept nowhere.
CREATE TABLE embeds (
  id         TEXT   NOT NULL PRIMARY KEY,
  panel      TEXT   NOT NULL, -- workload, team, fleet, licenses
  subject    TEXT   NOT NULL, -- id of the workload, name of the tenant; '' for the others
  title      TEXT   NOT NULL, -- of the subject, as it was when the embed was made
  theme      TEXT   NOT NULL, -- light, dark; '' for what the reader's system says
  person     TEXT   NOT NULL REFERENCES people (id), -- whose rights count
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX embeds_person ON embeds (person, created_at);

-- What workloads prove with who they are elsewhere. Values are in "sealed" alone, encrypted with the portal's key.
CREATE TABLE secrets (
  id           TEXT   NOT NULL PRIMARY KEY,
  person       TEXT   NOT NULL, -- whose own it is; '' for one of a team
  tenant       TEXT   NOT NULL, -- the team; '' for one of a person
  name         TEXT   NOT NULL,
  kind         TEXT   NOT NULL,
  about        TEXT   NOT NULL, -- JSON: fields that are no secret, and beginnings of those that are
  env          TEXT   NOT NULL DEFAULT '', -- JSON: names of variables
  files        TEXT   NOT NULL DEFAULT '', -- JSON: names of files
  sealed       TEXT   NOT NULL,
  created_by   TEXT   NOT NULL,
  creator_name TEXT   NOT NULL,
  created_at   BIGINT NOT NULL,
  replaced_at  BIGINT,
  used_at      BIGINT,
  version      BIGINT NOT NULL,
  UNIQUE (person, tenant, name)
);

-- Clusters that administrators have added in the portal. What opens them is in "sealed" alone, encrypted with the
-- portal's key.
CREATE TABLE clusters (
  name        TEXT   NOT NULL PRIMARY KEY,
  server      TEXT   NOT NULL,
  sealed      TEXT   NOT NULL,
  added_by    TEXT   NOT NULL,
  adder_name  TEXT   NOT NULL,
  added_at    BIGINT NOT NULL,
  replaced_at BIGINT,
  version     BIGINT NOT NULL
);

CREATE TABLE codes (
  hash       TEXT   NOT NULL PRIMARY KEY,
  session    TEXT   NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  workload   TEXT   NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX codes_session ON codes (session);

CREATE TABLE requests (
  id                TEXT   NOT NULL PRIMARY KEY,
  kind              TEXT   NOT NULL,
  asker             TEXT   NOT NULL,
  asker_name        TEXT   NOT NULL,
  tenant            TEXT   NOT NULL,
  name              TEXT   NOT NULL,
  workload          TEXT   NOT NULL,
  state             TEXT   NOT NULL CHECK (state IN ('pending', 'approved', 'rejected', 'withdrawn', 'expired')),
  spec              TEXT   NOT NULL,
  decision          TEXT   NOT NULL,
  estimate_minor    BIGINT NOT NULL,
  estimate_currency TEXT   NOT NULL,
  -- With as many replicas as may be set; 0 where that is the same.
  estimate_most     BIGINT NOT NULL DEFAULT 0,
  idempotency_key   TEXT   NOT NULL,
  created_at        BIGINT NOT NULL,
  expires_at        BIGINT,
  decided_at        BIGINT,
  version           BIGINT NOT NULL CHECK (version > 0),
  size_name         TEXT   NOT NULL DEFAULT '',
  fingerprint       TEXT   NOT NULL DEFAULT '',
  -- A pending request that waits for nothing but seats of a license pool: which pool, and since when. "" for all
  -- others.
  seat_pool         TEXT   NOT NULL DEFAULT '',
  seat_since        BIGINT,
  lease_seconds     BIGINT NOT NULL DEFAULT 0,
  -- Who approved or rejected it: 'rule', 'person', or '' for nobody.
  decided_by        TEXT   NOT NULL DEFAULT '' CHECK (decided_by IN ('', 'rule', 'person')),
  -- A pending request with an answer that takes effect later: whose answer, and when. The person can undo it until
  -- then.
  deferred_by       TEXT   NOT NULL DEFAULT '',
  deferred_until    BIGINT
);
CREATE UNIQUE INDEX requests_asker_key ON requests (asker, idempotency_key) WHERE idempotency_key <> '';
CREATE INDEX requests_newest ON requests (created_at, id);
CREATE INDEX requests_asker ON requests (asker, created_at, id);
CREATE INDEX requests_tenant ON requests (tenant, created_at, id);
CREATE INDEX requests_pending ON requests (created_at, id) WHERE state = 'pending';
CREATE INDEX requests_waiting ON requests (tenant, asker) WHERE state = 'pending';
CREATE INDEX requests_pending_name ON requests (name) WHERE state = 'pending';
CREATE INDEX requests_size ON requests (size_name, created_at, id);
CREATE INDEX requests_dearest ON requests (estimate_minor, id);
CREATE INDEX requests_longest ON requests (lease_seconds, id);
CREATE INDEX requests_decided_by ON requests (decided_by, created_at, id);
CREATE INDEX requests_deferred ON requests (deferred_until) WHERE deferred_until IS NOT NULL;
CREATE INDEX requests_seat_line ON requests (seat_since, id, seat_pool) WHERE state = 'pending' AND seat_pool <> '';
-- Demand that was not met.
CREATE INDEX requests_given_up ON requests (decided_at, id) WHERE kind = 'start' AND state IN ('withdrawn', 'expired');
-- How long the requests of a team waited for people.
CREATE INDEX requests_decided ON requests (tenant, decided_at) WHERE kind = 'start' AND state <> 'pending';

-- What was refused at once, with what the rules could see then.
CREATE TABLE refusals (
  id         TEXT   NOT NULL PRIMARY KEY,
  kind       TEXT   NOT NULL,
  asker      TEXT   NOT NULL,
  asker_name TEXT   NOT NULL,
  tenant     TEXT   NOT NULL,
  spec       TEXT   NOT NULL,
  decision   TEXT   NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX refusals_newest ON refusals (created_at, id);

-- Whose approval a pending request waits for, from when on: principals as in identity.Approvers. "decided:" and a
-- person is somebody who has decided already, and the asker. The rows of a request go when it is decided.
CREATE TABLE request_asks (
  request TEXT   NOT NULL REFERENCES requests (id) ON DELETE CASCADE,
  asks    TEXT   NOT NULL,
  from_at BIGINT NOT NULL,
  PRIMARY KEY (request, asks)
);
-- How many requests wait for somebody's decision is counted in this alone.
CREATE INDEX request_asks_waiting ON request_asks (asks, request, from_at);

CREATE TABLE workloads (
  id           TEXT    NOT NULL PRIMARY KEY,
  name         TEXT    NOT NULL,
  kind         TEXT    NOT NULL,
  tenant       TEXT    NOT NULL,
  owner        TEXT    NOT NULL,
  owner_name   TEXT    NOT NULL,
  size_name    TEXT    NOT NULL,
  license_pool TEXT    NOT NULL,
  size         TEXT    NOT NULL,
  image        TEXT    NOT NULL,
  cluster      TEXT    NOT NULL,
  namespace    TEXT    NOT NULL,
  volume       TEXT    NOT NULL,
  storage_gib  BIGINT  NOT NULL,
  desired      TEXT    NOT NULL CHECK (desired IN ('running', 'stopped', 'deleted', 'finished')),
  generation   BIGINT  NOT NULL,
  state        TEXT    NOT NULL CHECK (state IN ('queued', 'starting', 'running', 'asleep', 'stopping', 'stopped', 'failed', 'succeeded', 'ended')),
  reason       TEXT    NOT NULL,
  lease_from   BIGINT,
  lease_until  BIGINT,
  placed_at    BIGINT,
  warned_at    BIGINT,
  grants       TEXT    NOT NULL DEFAULT '',
  request      TEXT    NOT NULL,
  on_node      BOOLEAN NOT NULL,
  observed     TEXT    NOT NULL,
  created_at   BIGINT  NOT NULL,
  updated_at   BIGINT  NOT NULL,
  version      BIGINT  NOT NULL CHECK (version > 0),
  license_seats BIGINT NOT NULL DEFAULT 1,
  avoid_nodes  TEXT    NOT NULL DEFAULT 'null',
  trace        TEXT    NOT NULL DEFAULT '',
  mounts       TEXT    NOT NULL DEFAULT '',
  job          TEXT    NOT NULL DEFAULT 'null',
  -- What an endpoint serves; 'null' where its image says so.
  model        TEXT    NOT NULL DEFAULT 'null',
  secrets      TEXT    NOT NULL DEFAULT '', -- JSON: which it was asked for with, never a value
  git          TEXT    NOT NULL DEFAULT 'null',
  result       TEXT    NOT NULL DEFAULT 'null',
  replicas     TEXT    NOT NULL DEFAULT '{}',
  -- Versions of what an endpoint runs; '{}' while there is but one.
  revisions    TEXT    NOT NULL DEFAULT '{}',
  -- When the clock stops and starts it, and how far that was carried out.
  schedule     TEXT    NOT NULL DEFAULT '{}',
  -- Whether an endpoint is reached from outside the company network, and until when.
  reach        TEXT    NOT NULL DEFAULT '{}',
  -- Pods that count against quota and seats while the workload counts at all, and pods that are on a node.
  held_replicas   BIGINT NOT NULL DEFAULT 1 CHECK (held_replicas >= 0),
  placed_replicas BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX workloads_ended ON workloads (updated_at) WHERE state = 'ended';
CREATE INDEX workloads_secrets ON workloads (tenant, owner) WHERE secrets <> '' AND state <> 'ended';
CREATE INDEX workloads_mounting ON workloads (tenant) WHERE mounts <> '' AND state <> 'ended';
CREATE UNIQUE INDEX workloads_living_name ON workloads (name) WHERE state <> 'ended';
CREATE INDEX workloads_living ON workloads (created_at, id) WHERE state <> 'ended';
CREATE INDEX workloads_newest ON workloads (created_at, id);
-- What wants a decision first, as lists of workloads stand; the query says the same word for word.
CREATE INDEX workloads_by_state ON workloads ((CASE state WHEN 'failed' THEN 0 WHEN 'running' THEN 1 WHEN 'asleep' THEN 1 WHEN 'starting' THEN 2 WHEN 'queued' THEN 2 ELSE 3 END), (COALESCE(CASE state WHEN 'running' THEN lease_until WHEN 'asleep' THEN lease_until END, 0)), created_at DESC, id DESC, state) WHERE state <> 'ended';
CREATE INDEX workloads_owner ON workloads (owner, created_at, id);
CREATE INDEX workloads_tenant ON workloads (tenant, created_at, id);
CREATE INDEX workloads_holding ON workloads (tenant, size_name, cluster, license_pool, desired, state, license_seats, held_replicas) WHERE desired = 'running' OR state = 'stopping';
CREATE INDEX workloads_seats ON workloads (license_pool, tenant, desired, state, license_seats, held_replicas) WHERE license_pool <> '' AND (desired = 'running' OR state = 'stopping');

-- When people were inside workloads last, through the gateway, a terminal or a tunnel.
CREATE TABLE visits (
  workload TEXT   NOT NULL,
  person   TEXT   NOT NULL,
  seen_at  BIGINT NOT NULL,
  PRIMARY KEY (workload, person)
);
CREATE INDEX visits_seen ON visits (seen_at);

-- Keys with which programs call endpoints: hashes only.
CREATE TABLE endpoint_keys (
  id                  TEXT   NOT NULL PRIMARY KEY,
  workload            TEXT   NOT NULL REFERENCES workloads (id),
  name                TEXT   NOT NULL,
  secret_hash         TEXT   NOT NULL,
  former_hash         TEXT   NOT NULL, -- of the secret before the last rotation
  former_until        BIGINT,
  requests_per_minute BIGINT NOT NULL,
  tokens_per_minute   BIGINT NOT NULL,
  concurrency         BIGINT NOT NULL,
  created_by          TEXT   NOT NULL,
  creator_name        TEXT   NOT NULL,
  created_at          BIGINT NOT NULL,
  rotated_at          BIGINT,
  expires_at          BIGINT NOT NULL,
  last_used_at        BIGINT,
  revoked_at          BIGINT
);
CREATE INDEX endpoint_keys_workload ON endpoint_keys (workload, created_at);

-- Further endpoints that a key opens.
CREATE TABLE endpoint_key_endpoints (
  key_id   TEXT NOT NULL REFERENCES endpoint_keys (id) ON DELETE CASCADE,
  workload TEXT NOT NULL REFERENCES workloads (id),
  PRIMARY KEY (key_id, workload)
);
CREATE INDEX endpoint_key_endpoints_workload ON endpoint_key_endpoints (workload);

-- The running minute of a key that has limits, which the replicas of the gateway count together.
CREATE TABLE endpoint_key_windows (
  key_id   TEXT   NOT NULL PRIMARY KEY REFERENCES endpoint_keys (id) ON DELETE CASCADE,
  began_at BIGINT,
  requests BIGINT NOT NULL,
  tokens   BIGINT NOT NULL
);

-- What was taken with a key of an endpoint in an hour.
CREATE TABLE key_traffic (
  key_id            TEXT   NOT NULL,
  hour              BIGINT NOT NULL,
  workload          TEXT   NOT NULL,
  requests          BIGINT NOT NULL,
  refused           BIGINT NOT NULL, -- over a limit
  prompt_tokens     BIGINT NOT NULL,
  completion_tokens BIGINT NOT NULL,
  without_usage     BIGINT NOT NULL, -- requests whose answers reported no token usage
  PRIMARY KEY (key_id, workload, hour)
);
CREATE INDEX key_traffic_workload ON key_traffic (workload, hour);

-- When a gateway last reported the load of endpoints, and what it measured: concurrency and requests per second in
-- thousandths. Rows of gateways that are gone tell when an endpoint was called last.
CREATE TABLE gateway_reports (
  gateway TEXT   NOT NULL PRIMARY KEY,
  at      BIGINT NOT NULL
);
CREATE TABLE endpoint_load (
  gateway     TEXT   NOT NULL,
  workload    TEXT   NOT NULL,
  under_way   BIGINT NOT NULL,
  concurrency BIGINT NOT NULL,
  per_second  BIGINT NOT NULL,
  last_at     BIGINT,
  PRIMARY KEY (gateway, workload)
);
CREATE INDEX endpoint_load_last ON endpoint_load (last_at);

-- What went through an endpoint in a step (in seconds) that begins at a time, by key or person, and as the sum over all
-- of them, which names neither. first_N and took_N are buckets of histograms: how many answers began, and ended, within
-- that time. Processes add to the same rows.
CREATE TABLE endpoint_traffic (
  workload          TEXT   NOT NULL,
  step              BIGINT NOT NULL,
  key_id            TEXT   NOT NULL,
  person            TEXT   NOT NULL,
  revision          BIGINT NOT NULL,
  at                BIGINT NOT NULL,
  requests          BIGINT NOT NULL,
  client_errors     BIGINT NOT NULL,
  server_errors     BIGINT NOT NULL,
  refused           BIGINT NOT NULL, -- over a limit
  prompt_tokens     BIGINT NOT NULL,
  completion_tokens BIGINT NOT NULL,
  without_usage     BIGINT NOT NULL,
  first_0 BIGINT NOT NULL, first_1 BIGINT NOT NULL, first_2 BIGINT NOT NULL, first_3 BIGINT NOT NULL, first_4 BIGINT NOT NULL,
  first_5 BIGINT NOT NULL, first_6 BIGINT NOT NULL, first_7 BIGINT NOT NULL, first_8 BIGINT NOT NULL, first_9 BIGINT NOT NULL,
  first_10 BIGINT NOT NULL, first_11 BIGINT NOT NULL, first_12 BIGINT NOT NULL, first_13 BIGINT NOT NULL, first_14 BIGINT NOT NULL,
  first_15 BIGINT NOT NULL, first_16 BIGINT NOT NULL, first_17 BIGINT NOT NULL, first_18 BIGINT NOT NULL, first_19 BIGINT NOT NULL,
  first_20 BIGINT NOT NULL, first_21 BIGINT NOT NULL, first_22 BIGINT NOT NULL, first_23 BIGINT NOT NULL, first_24 BIGINT NOT NULL,
  took_0 BIGINT NOT NULL, took_1 BIGINT NOT NULL, took_2 BIGINT NOT NULL, took_3 BIGINT NOT NULL, took_4 BIGINT NOT NULL,
  took_5 BIGINT NOT NULL, took_6 BIGINT NOT NULL, took_7 BIGINT NOT NULL, took_8 BIGINT NOT NULL, took_9 BIGINT NOT NULL,
  took_10 BIGINT NOT NULL, took_11 BIGINT NOT NULL, took_12 BIGINT NOT NULL, took_13 BIGINT NOT NULL, took_14 BIGINT NOT NULL,
  took_15 BIGINT NOT NULL, took_16 BIGINT NOT NULL, took_17 BIGINT NOT NULL, took_18 BIGINT NOT NULL, took_19 BIGINT NOT NULL,
  took_20 BIGINT NOT NULL, took_21 BIGINT NOT NULL, took_22 BIGINT NOT NULL, took_23 BIGINT NOT NULL, took_24 BIGINT NOT NULL,
  PRIMARY KEY (workload, step, key_id, person, revision, at)
);
CREATE INDEX endpoint_traffic_age ON endpoint_traffic (step, at);

-- The newest batch of counts that a process added, so that none is added twice.
CREATE TABLE traffic_batches (
  process TEXT   NOT NULL PRIMARY KEY,
  number  BIGINT NOT NULL,
  at      BIGINT NOT NULL
);

-- How many replicas an endpoint had in a step, and how many requests waited in them (in thousandths): sums over so many
-- samples.
CREATE TABLE replica_samples (
  workload      TEXT   NOT NULL,
  step          BIGINT NOT NULL,
  at            BIGINT NOT NULL,
  samples       BIGINT NOT NULL,
  wanted        BIGINT NOT NULL,
  ready         BIGINT NOT NULL,
  queue_samples BIGINT NOT NULL,
  queue         BIGINT NOT NULL,
  PRIMARY KEY (workload, step, at)
);
CREATE INDEX replica_samples_age ON replica_samples (step, at);

CREATE TABLE volumes (
  name       TEXT    NOT NULL PRIMARY KEY,
  tenant     TEXT    NOT NULL,
  owner      TEXT    NOT NULL,
  owner_name TEXT    NOT NULL,
  cluster    TEXT    NOT NULL,
  namespace  TEXT    NOT NULL,
  gib        BIGINT  NOT NULL,
  workload   TEXT    NOT NULL,
  deleted    BOOLEAN NOT NULL,
  created_at BIGINT  NOT NULL,
  updated_at BIGINT  NOT NULL,
  version    BIGINT  NOT NULL CHECK (version > 0),
  unused_from BIGINT,
  warned_at  BIGINT,
  warned_for BIGINT NOT NULL DEFAULT 0,
  share      TEXT   NOT NULL DEFAULT '{}',
  delete_after BIGINT,
  refused    TEXT   NOT NULL DEFAULT '{}',
  personal   TEXT   NOT NULL DEFAULT '{}'
);
CREATE INDEX volumes_owner ON volumes (owner);
CREATE INDEX volumes_tenant ON volumes (tenant);
CREATE INDEX volumes_deleted ON volumes (name) WHERE deleted;
CREATE INDEX volumes_shared ON volumes (cluster) WHERE share <> '{}';

CREATE TABLE volume_claims (
  volume  TEXT   NOT NULL PRIMARY KEY REFERENCES volumes (name) ON DELETE CASCADE,
  state   TEXT   NOT NULL,
  seen_at BIGINT NOT NULL
);

-- The files of a volume at a moment. The volume's row may be gone before them: they are removed from the cluster first.
CREATE TABLE volume_snapshots (
  id         TEXT    NOT NULL PRIMARY KEY, -- name of the VolumeSnapshot
  volume     TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  tenant     TEXT    NOT NULL,
  cluster    TEXT    NOT NULL,
  namespace  TEXT    NOT NULL,
  deleted    BOOLEAN NOT NULL,
  created_at BIGINT  NOT NULL,
  state      TEXT    NOT NULL, -- JSON: what its cluster said last
  seen_at    BIGINT
);
CREATE INDEX volume_snapshots_volume ON volume_snapshots (volume, created_at);
CREATE INDEX volume_snapshots_cluster ON volume_snapshots (cluster);

-- What a team offers its members to read.
CREATE TABLE datasets (
  tenant     TEXT   NOT NULL,
  name       TEXT   NOT NULL,
  title      TEXT   NOT NULL, -- '' for the name
  note       TEXT   NOT NULL,
  source     TEXT   NOT NULL, -- JSON: the claim, its cluster, and the directory on it
  offered_by TEXT   NOT NULL,
  by_name    TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  version    BIGINT NOT NULL,
  PRIMARY KEY (tenant, name)
);

CREATE TABLE meter_intervals (
  workload       TEXT   NOT NULL,
  tenant         TEXT   NOT NULL,
  size_name      TEXT   NOT NULL,
  price_minor    BIGINT NOT NULL,
  price_currency TEXT   NOT NULL,
  from_at        BIGINT NOT NULL,
  until_at       BIGINT CHECK (until_at >= from_at),
  unknown_until  BIGINT,
  seat_pool      TEXT   NOT NULL DEFAULT '',
  seats          BIGINT NOT NULL DEFAULT 0,
  seat_group     TEXT   NOT NULL DEFAULT '',
  seat_most      BIGINT NOT NULL DEFAULT 0,
  parts          BIGINT NOT NULL DEFAULT 0 CHECK (parts >= 0),
  -- Pods that held the size at a time. Times of a statement are added up for each of them; parts are those of all.
  replicas       BIGINT NOT NULL DEFAULT 1 CHECK (replicas > 0),
  cluster        TEXT   NOT NULL DEFAULT '',
  PRIMARY KEY (workload, from_at)
);
CREATE UNIQUE INDEX meter_intervals_open ON meter_intervals (workload) WHERE until_at IS NULL;
CREATE INDEX meter_intervals_until ON meter_intervals (until_at);
CREATE INDEX meter_intervals_seats ON meter_intervals (workload, from_at) WHERE seat_pool <> '';
CREATE INDEX meter_intervals_sharers ON meter_intervals (seat_group, from_at) WHERE seat_group <> '';
CREATE INDEX meter_intervals_unknown ON meter_intervals (unknown_until) WHERE unknown_until IS NOT NULL;

-- How busy the devices of each line of the meter were in a month of the site's time zone, as far as the metrics of its
-- cluster tell: microseconds of one device, with several the mean of them. busy_us is the use times the time. Nothing
-- is ever charged on it.
CREATE TABLE engine_uses (
  month          TEXT   NOT NULL,
  workload       TEXT   NOT NULL,
  tenant         TEXT   NOT NULL,
  size_name      TEXT   NOT NULL,
  price_minor    BIGINT NOT NULL,
  price_currency TEXT   NOT NULL,
  measured_us    BIGINT NOT NULL CHECK (measured_us >= 0),
  busy_us        BIGINT NOT NULL CHECK (busy_us >= 0 AND busy_us <= measured_us),
  idle_us        BIGINT NOT NULL CHECK (idle_us >= 0 AND idle_us <= measured_us),
  PRIMARY KEY (month, workload, tenant, size_name, price_minor, price_currency)
);

-- Up to when engine_uses has what a cluster's metrics told.
CREATE TABLE engine_watermarks (
  cluster  TEXT   NOT NULL PRIMARY KEY,
  until_at BIGINT NOT NULL
);

-- When storage was there, of which size and whose. What it costs follows from the price list, which keeps what counted
-- when.
CREATE TABLE storage_intervals (
  volume     TEXT   NOT NULL,
  tenant     TEXT   NOT NULL,
  owner      TEXT   NOT NULL,
  owner_name TEXT   NOT NULL,
  gib        BIGINT NOT NULL,
  from_at    BIGINT NOT NULL,
  until_at   BIGINT CHECK (until_at >= from_at),
  PRIMARY KEY (volume, from_at)
);
CREATE UNIQUE INDEX storage_intervals_open ON storage_intervals (volume) WHERE until_at IS NULL;
CREATE INDEX storage_intervals_until ON storage_intervals (until_at);

-- Sums of each line of the meter from the beginning of a month up to a moment, so that a statement need not add up the
-- whole meter. They can be thrown away at any time.
CREATE TABLE meter_rollups (
  from_at  BIGINT NOT NULL,
  until_at BIGINT NOT NULL CHECK (until_at > from_at),
  PRIMARY KEY (from_at, until_at)
);
CREATE INDEX meter_rollups_until ON meter_rollups (until_at);

-- Times in microseconds: held before the month, held in it, and of it what nobody can tell.
CREATE TABLE meter_sums (
  from_at        BIGINT NOT NULL,
  until_at       BIGINT NOT NULL,
  workload       TEXT   NOT NULL,
  tenant         TEXT   NOT NULL,
  size_name      TEXT   NOT NULL,
  price_minor    BIGINT NOT NULL,
  price_currency TEXT   NOT NULL,
  before_us      BIGINT NOT NULL,
  held_us        BIGINT NOT NULL,
  unknown_us     BIGINT NOT NULL,
  PRIMARY KEY (from_at, until_at, workload, tenant, size_name, price_minor, price_currency),
  FOREIGN KEY (from_at, until_at) REFERENCES meter_rollups (from_at, until_at) ON DELETE CASCADE
);

-- What things cost, in thousandths of a minor unit, from when until when (NULL: until further notice). What has been
-- charged by a row stays: it is ended, never changed or removed.
CREATE TABLE prices (
  id          TEXT   NOT NULL PRIMARY KEY,
  kind        TEXT   NOT NULL CHECK (kind IN ('size', 'card', 'cpu', 'memory', 'storage', 'seat')),
  subject     TEXT   NOT NULL,
  tenant      TEXT   NOT NULL,
  unit_price_millis BIGINT NOT NULL CHECK (unit_price_millis >= 0),
  from_at     BIGINT NOT NULL,
  until_at    BIGINT CHECK (until_at >= from_at),
  author      TEXT   NOT NULL,
  author_name TEXT   NOT NULL,
  created_at  BIGINT NOT NULL
);

CREATE TABLE audit_events (
  seq      BIGINT NOT NULL PRIMARY KEY,
  at       BIGINT NOT NULL,
  kind     TEXT   NOT NULL,
  actor    TEXT   NOT NULL,
  actor_name      TEXT NOT NULL,
  address  TEXT   NOT NULL,
  tenant   TEXT   NOT NULL,
  request  TEXT   NOT NULL,
  workload TEXT   NOT NULL,
  volume   TEXT   NOT NULL,
  rule     TEXT   NOT NULL,
  detail   TEXT   NOT NULL,
  link     TEXT   NOT NULL DEFAULT '',
  behalf   TEXT   NOT NULL DEFAULT '',
  behalf_name     TEXT NOT NULL DEFAULT '',
  via             TEXT NOT NULL DEFAULT '',
  credential      TEXT NOT NULL DEFAULT '',
  credential_name TEXT NOT NULL DEFAULT '',
  changes         TEXT NOT NULL DEFAULT ''
);
CREATE INDEX audit_events_workload ON audit_events (workload, seq) WHERE workload <> '';
CREATE INDEX audit_events_request ON audit_events (request, seq) WHERE request <> '';
CREATE INDEX audit_events_tenant ON audit_events (tenant, seq);
CREATE INDEX audit_events_actor ON audit_events (actor, seq);
CREATE INDEX audit_events_kind ON audit_events (kind, seq);
CREATE INDEX audit_events_at ON audit_events (at);

CREATE TABLE outbox (
  seq    BIGINT NOT NULL PRIMARY KEY,
  at     BIGINT NOT NULL,
  topic  TEXT   NOT NULL CHECK (topic <> ''),
  id     TEXT   NOT NULL,
  tenant TEXT   NOT NULL,
  person TEXT   NOT NULL
);
CREATE INDEX outbox_at ON outbox (at);

-- The last number given to an audit event and to an outbox row. Whoever writes either takes its numbers here and holds
-- the row until its commit, so that the numbers have no gaps and follow the order of commits.
CREATE TABLE counters (
  id     BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
  audit  BIGINT NOT NULL,
  outbox BIGINT NOT NULL
);

-- How often the lead was taken. Whoever leads writes under the number that it took, and is refused once there is a
-- higher one.
CREATE TABLE leadership (
  id    BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
  epoch BIGINT NOT NULL
);

-- Clusters in which nothing is created, changed or deleted, because they carry more than this database knows: since
-- when, the checkpoint that was found there, where the database was, and how many differences were decided since.
CREATE TABLE cluster_holds (
  cluster  TEXT   NOT NULL PRIMARY KEY,
  since    BIGINT NOT NULL,
  cause    TEXT   NOT NULL CHECK (cause IN ('older', 'diverged', 'other', 'no_checkpoint')),
  checkpoint TEXT NOT NULL,
  position TEXT   NOT NULL,
  decided  BIGINT NOT NULL DEFAULT 0
);

-- What database and clusters do not agree on, as the leader saw it last, and what was decided about it.
CREATE TABLE differences (
  id           TEXT   NOT NULL PRIMARY KEY,
  cluster      TEXT   NOT NULL,
  data         TEXT   NOT NULL,
  version      TEXT   NOT NULL,
  found_at     BIGINT NOT NULL,
  decision     TEXT   NOT NULL CHECK (decision IN ('', 'adopt', 'release', 'apply')),
  decided_by   TEXT   NOT NULL,
  decided_name TEXT   NOT NULL,
  decided_at   BIGINT
);
CREATE INDEX differences_cluster ON differences (cluster);

-- Until when the leader is taken to be alive: a fixed time after renewed_at, by the database's clock. A row apart from
-- leadership, which every write of the leader locks; the epochs are equal. PostgreSQL only: with SQLite there is one
-- process.
CREATE TABLE leader_leases (
  id         BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
  epoch      BIGINT NOT NULL,
  renewed_at BIGINT NOT NULL
);

-- The last run of each of the leader's jobs.
CREATE TABLE job_runs (
  job        TEXT   NOT NULL PRIMARY KEY,
  started_at BIGINT NOT NULL,
  took_us    BIGINT NOT NULL CHECK (took_us >= 0),
  outcome    TEXT   NOT NULL CHECK (outcome IN ('done', 'failed', 'skipped')),
  error      TEXT   NOT NULL,
  done_at    BIGINT,
  failures   BIGINT NOT NULL CHECK (failures >= 0)
);

-- The running processes, and what each found of what it stands on (internal/doctor). Rows that are not seen any more
-- are deleted by their age.
CREATE TABLE processes (
  id         TEXT    NOT NULL PRIMARY KEY,
  seen_at    BIGINT  NOT NULL,
  leads      BOOLEAN NOT NULL,
  wanted_at  BIGINT,
  checked_at BIGINT,
  load       TEXT    NOT NULL,
  facts      TEXT    NOT NULL
);

-- What is on offer, as administrators wrote it: one row a revision, the highest version counts. Version 0 is the
-- configuration's and has no row.
CREATE TABLE catalogs (
  version     BIGINT NOT NULL PRIMARY KEY CHECK (version > 0),
  text        TEXT   NOT NULL,
  author      TEXT   NOT NULL,
  author_name TEXT   NOT NULL,
  note        TEXT   NOT NULL,
  created_at  BIGINT NOT NULL
);

-- The administrators' rules as they wrote them: one row a revision, the highest version counts. Version 0 is the
-- configuration's and has no row.
CREATE TABLE rules (
  version     BIGINT NOT NULL PRIMARY KEY CHECK (version > 0),
  text        TEXT   NOT NULL,
  author      TEXT   NOT NULL,
  author_name TEXT   NOT NULL,
  note        TEXT   NOT NULL,
  created_at  BIGINT NOT NULL
);

-- Who decides requests in whose place, from when until when.
CREATE TABLE delegations (
  id         TEXT   NOT NULL PRIMARY KEY,
  person     TEXT   NOT NULL REFERENCES people (id),
  delegate   TEXT   NOT NULL REFERENCES people (id),
  from_at    BIGINT NOT NULL,
  until_at   BIGINT NOT NULL CHECK (until_at > from_at),
  created_at BIGINT NOT NULL
);
CREATE INDEX delegations_delegate ON delegations (delegate, until_at);
CREATE INDEX delegations_person ON delegations (person, until_at);

CREATE TABLE snapshots (
  cluster  TEXT   NOT NULL PRIMARY KEY,
  taken_at BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  data     TEXT   NOT NULL
);

-- What the physical cards of a cluster did on a day of the site's time zone, by model. All are card time in 840ths of a
-- card times milliseconds.
CREATE TABLE fleet_days (
  day      TEXT   NOT NULL,
  cluster  TEXT   NOT NULL,
  model    TEXT   NOT NULL,
  physical BIGINT NOT NULL,
  ours     BIGINT NOT NULL,
  others   BIGINT NOT NULL,
  free     BIGINT NOT NULL,
  broken   BIGINT NOT NULL,
  unknown  BIGINT NOT NULL,
  PRIMARY KEY (day, cluster, model)
);

-- What a cluster had when it was seen last: up to then fleet_days is counted.
CREATE TABLE fleet_samples (
  cluster  TEXT   NOT NULL PRIMARY KEY,
  taken_at BIGINT NOT NULL,
  stock    TEXT   NOT NULL
);

CREATE TABLE settings (
  name   TEXT   NOT NULL PRIMARY KEY,
  value  TEXT   NOT NULL,
  set_at BIGINT NOT NULL
);

-- Licenses that were bought, as an administrator entered or imported them.
CREATE TABLE license_entitlements (
  id          TEXT   NOT NULL PRIMARY KEY,
  pool        TEXT   NOT NULL,
  reference   TEXT   NOT NULL,
  seats       BIGINT NOT NULL CHECK (seats > 0),
  from_at     BIGINT,
  until_at    BIGINT CHECK (until_at IS NULL OR from_at IS NULL OR until_at > from_at),
  origin      TEXT   NOT NULL,
  author      TEXT   NOT NULL,
  author_name TEXT   NOT NULL,
  created_at  BIGINT NOT NULL
);

-- What an administrator decided about a license pool in the portal, in place of the settings.
CREATE TABLE license_pools (
  name        TEXT   NOT NULL PRIMARY KEY,
  on_exhaustion TEXT NOT NULL CHECK (on_exhaustion IN ('refuse', 'queue')),
  author      TEXT   NOT NULL,
  author_name TEXT   NOT NULL,
  changed_at  BIGINT NOT NULL
);

-- What each license server said last, and since when it says nothing.
CREATE TABLE license_answers (
  source   TEXT   NOT NULL PRIMARY KEY,
  answer   TEXT   NOT NULL,
  tried_at BIGINT NOT NULL
);

-- What each vGPU was last known to say of its license, and since when.
CREATE TABLE license_devices (
  cluster    TEXT   NOT NULL,
  node       TEXT   NOT NULL,
  uuid       TEXT   NOT NULL,
  gpu_index  TEXT   NOT NULL,
  model      TEXT   NOT NULL,
  state      TEXT   NOT NULL,
  since      BIGINT NOT NULL,
  seen_at    BIGINT NOT NULL,
  expires_at BIGINT,
  PRIMARY KEY (cluster, node, uuid)
);

-- What was saved about a team over the configuration, or of a team that was made by hand: one row a revision, the
-- highest version of each team counts.
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
  -- JSON list of people: who added them, then who had granted that person the role by which they could.
  granted  TEXT   NOT NULL,
  added_at BIGINT NOT NULL,
  PRIMARY KEY (tenant, person, role)
);
CREATE INDEX tenant_members_person ON tenant_members (person);
-- What a team may use in each month: amount in the smallest part of the unit, minor units of a currency or thousandths
-- of a GPU-hour. A team without a row is not limited.
CREATE TABLE budgets (
  tenant   TEXT   NOT NULL PRIMARY KEY,
  unit     TEXT   NOT NULL,
  amount   BIGINT NOT NULL CHECK (amount >= 0),
  at_limit TEXT   NOT NULL CHECK (at_limit IN ('stop', 'approval')),
  set_by   TEXT   NOT NULL,
  set_name TEXT   NOT NULL,
  set_at   BIGINT NOT NULL,
  version  BIGINT NOT NULL
);

-- The books: one row a transaction, one column an account. What does not sum to zero is refused here. Rows are only
-- ever added.
CREATE TABLE budget_transactions (
  id         TEXT   NOT NULL PRIMARY KEY,
  tenant     TEXT   NOT NULL,
  month      TEXT   NOT NULL,
  unit       TEXT   NOT NULL,
  kind       TEXT   NOT NULL,
  workload   TEXT   NOT NULL,
  left_over  BIGINT NOT NULL,
  held       BIGINT NOT NULL,
  spent      BIGINT NOT NULL,
  refunded   BIGINT NOT NULL,
  platform   BIGINT NOT NULL,
  posted_by  TEXT   NOT NULL,
  by_name    TEXT   NOT NULL,
  note       TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  CHECK (left_over + held + spent + refunded + platform = 0)
);
CREATE INDEX budget_transactions_book ON budget_transactions (tenant, month, unit, created_at, id);

-- What the transactions of a book come to, account by account.
CREATE TABLE budget_balances (
  tenant    TEXT   NOT NULL,
  month     TEXT   NOT NULL,
  unit      TEXT   NOT NULL,
  left_over BIGINT NOT NULL,
  held      BIGINT NOT NULL CHECK (held >= 0),
  spent     BIGINT NOT NULL,
  refunded  BIGINT NOT NULL,
  platform  BIGINT NOT NULL,
  warned    BIGINT NOT NULL,
  PRIMARY KEY (tenant, month, unit),
  CHECK (left_over + held + spent + refunded + platform = 0)
);

-- What of it is one workload's.
CREATE TABLE budget_shares (
  tenant   TEXT   NOT NULL,
  month    TEXT   NOT NULL,
  unit     TEXT   NOT NULL,
  workload TEXT   NOT NULL,
  held     BIGINT NOT NULL CHECK (held >= 0),
  spent    BIGINT NOT NULL,
  refunded BIGINT NOT NULL,
  PRIMARY KEY (tenant, month, unit, workload)
);
CREATE INDEX budget_shares_held ON budget_shares (tenant, workload) WHERE held > 0;

-- What counts as idle and what follows, as JSON: one row a revision, the highest version counts.
CREATE TABLE idle_settings (
  version     BIGINT NOT NULL PRIMARY KEY CHECK (version > 0),
  settings    TEXT   NOT NULL,
  author      TEXT   NOT NULL,
  author_name TEXT   NOT NULL,
  created_at  BIGINT NOT NULL
);

-- The level that administrators have set over the settings' one, in every replica until until_at. One row at most.
CREATE TABLE log_level (
  id          BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
  level       TEXT   NOT NULL,
  until_at    BIGINT NOT NULL,
  author      TEXT   NOT NULL,
  author_name TEXT   NOT NULL,
  created_at  BIGINT NOT NULL
);

-- Up to when it is known how hard the pods of a cluster worked.
CREATE TABLE idle_observed (
  cluster  TEXT   NOT NULL PRIMARY KEY,
  until_at BIGINT NOT NULL
);

-- Since when a workload is idle, what its owner was told of that, and whether somebody still needs it. The highest use
-- is in hundredths of a per cent; of what is judged by its pods it is in thousandths of a core and in bytes per second.
-- The highest change of its GPU memory is in MiB.
CREATE TABLE idle_records (
  workload   TEXT   NOT NULL PRIMARY KEY REFERENCES workloads (id),
  generation BIGINT NOT NULL,
  below      BIGINT NOT NULL,
  since_at   BIGINT,
  high       BIGINT NOT NULL,
  below_cpu     BIGINT NOT NULL,
  below_network BIGINT NOT NULL,
  high_cpu      BIGINT NOT NULL,
  high_network  BIGINT NOT NULL,
  high_memory   BIGINT NOT NULL,
  memory_known  BOOLEAN NOT NULL,
  warned_at  BIGINT,
  stops_at   BIGINT,
  keep_alive_until BIGINT,
  keep_alive_by TEXT   NOT NULL
);

-- What a person wants to hear of, and how, as JSON.
CREATE TABLE notice_preferences (
  person TEXT NOT NULL PRIMARY KEY REFERENCES people (id),
  preferences TEXT NOT NULL
);

-- Where chat messages and webhooks go: of a person, or of a team. The address itself, and what it is signed with, is
-- sealed with the portal's key.
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
  updated_at BIGINT NOT NULL,
  problem    TEXT   NOT NULL DEFAULT '{}'
);
CREATE UNIQUE INDEX deliveries_once ON deliveries (event, recipient, channel) WHERE event > 0;
CREATE INDEX deliveries_due ON deliveries (next_at) WHERE state IN ('due', 'sending');
CREATE INDEX deliveries_newest ON deliveries (created_at, id);
CREATE INDEX deliveries_failed ON deliveries (created_at, id) WHERE state = 'failed';

-- The last audit event that was looked at for deliveries: at first the last one there is, for nobody wants to hear of
-- what is long past.
CREATE TABLE notice_cursor (
  id  BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
  seq BIGINT NOT NULL
);

-- Each start of a workload: what was estimated when it was told to run, and when it got its place after it had waited,
-- and what came of it. Later estimates rest on those that are over.
CREATE TABLE starts (
  workload     TEXT    NOT NULL,
  generation   BIGINT  NOT NULL,
  size_name    TEXT    NOT NULL,
  kind         TEXT    NOT NULL,
  cluster      TEXT    NOT NULL,
  waited       BOOLEAN NOT NULL,
  requested_at BIGINT  NOT NULL,
  given_at     BIGINT  NOT NULL,
  from_at      BIGINT,
  until_at     BIGINT CHECK (until_at >= from_at),
  basis        TEXT    NOT NULL,
  placed_at    BIGINT,
  placed_from  BIGINT,
  placed_until BIGINT CHECK (placed_until >= placed_from),
  ready_at     BIGINT,
  PRIMARY KEY (workload, generation)
);
CREATE INDEX starts_ready ON starts (size_name, kind, ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX starts_requested ON starts (requested_at);

-- Nodes and cards that an administrator has quarantined. A card goes by its UUID; the node is where it was then.
CREATE TABLE hardware_quarantine (
  cluster     TEXT   NOT NULL,
  kind        TEXT   NOT NULL CHECK (kind IN ('node', 'card')),
  name        TEXT   NOT NULL,
  node        TEXT   NOT NULL,
  note        TEXT   NOT NULL,
  author      TEXT   NOT NULL,
  author_name TEXT   NOT NULL,
  created_at  BIGINT NOT NULL,
  PRIMARY KEY (cluster, kind, name)
);

-- Advice to take another size that somebody has put away; it stays away while it says the same.
CREATE TABLE advice_dismissals (
  workload    TEXT   NOT NULL PRIMARY KEY REFERENCES workloads (id),
  kind        TEXT   NOT NULL CHECK (kind IN ('smaller', 'larger')),
  size_name   TEXT   NOT NULL,
  author      TEXT   NOT NULL,
  author_name TEXT   NOT NULL,
  created_at  BIGINT NOT NULL
);

INSERT INTO counters (id, audit, outbox) VALUES (1, 0, 0);
INSERT INTO notice_cursor (id, seq) VALUES (1, 0);
INSERT INTO leadership (id, epoch) VALUES (1, 0);
INSERT INTO leader_leases (id, epoch, renewed_at) VALUES (1, 0, 0);

-- +goose Down
-- On PostgreSQL the portal makes these from internal/store/operator_views.go.
DROP VIEW IF EXISTS operator_audit;
DROP VIEW IF EXISTS operator_meter_intervals;
DROP VIEW IF EXISTS operator_requests;
DROP VIEW IF EXISTS operator_workloads;
DROP TABLE advice_dismissals;
DROP TABLE hardware_quarantine;
DROP TABLE starts;
DROP TABLE notice_cursor;
DROP TABLE deliveries;
DROP TABLE notice_addresses;
DROP TABLE notice_preferences;
DROP TABLE idle_records;
DROP TABLE idle_observed;
DROP TABLE log_level;
DROP TABLE idle_settings;
DROP TABLE budget_shares;
DROP TABLE budget_balances;
DROP TABLE budget_transactions;
DROP TABLE budgets;
DROP TABLE tenant_members;
DROP TABLE tenant_revisions;
DROP TABLE license_devices;
DROP TABLE license_answers;
DROP TABLE license_pools;
DROP TABLE license_entitlements;
DROP TABLE settings;
DROP TABLE fleet_samples;
DROP TABLE fleet_days;
DROP TABLE snapshots;
DROP TABLE delegations;
DROP TABLE rules;
DROP TABLE catalogs;
DROP TABLE differences;
DROP TABLE cluster_holds;
DROP TABLE processes;
DROP TABLE job_runs;
DROP TABLE leader_leases;
DROP TABLE leadership;
DROP TABLE counters;
DROP TABLE outbox;
DROP TABLE audit_events;
DROP TABLE prices;
DROP TABLE meter_sums;
DROP TABLE meter_rollups;
DROP TABLE storage_intervals;
DROP TABLE engine_watermarks;
DROP TABLE engine_uses;
DROP TABLE meter_intervals;
DROP TABLE datasets;
DROP TABLE volume_snapshots;
DROP TABLE volume_claims;
DROP TABLE volumes;
DROP TABLE visits;
DROP TABLE replica_samples;
DROP TABLE traffic_batches;
DROP TABLE endpoint_traffic;
DROP TABLE endpoint_load;
DROP TABLE gateway_reports;
DROP TABLE key_traffic;
DROP TABLE endpoint_key_windows;
DROP TABLE endpoint_key_endpoints;
DROP TABLE endpoint_keys;
DROP TABLE workloads;
DROP TABLE request_asks;
DROP TABLE refusals;
DROP TABLE requests;
DROP TABLE codes;
DROP TABLE clusters;
DROP TABLE secrets;
DROP TABLE embeds;
DROP TABLE tokens;
DROP TABLE logouts;
DROP TABLE sessions;
DROP TABLE people;
