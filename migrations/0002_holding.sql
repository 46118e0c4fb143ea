-- +goose Up

-- A grant counts what its own team holds, and who has a seat; it must not read every team's workloads for that.
DROP INDEX workloads_holding;
CREATE INDEX workloads_holding ON workloads (tenant, size_name, licence_pool, desired, state) WHERE desired = 'running' OR state = 'stopping';
CREATE INDEX workloads_seats ON workloads (licence_pool, tenant, desired, state) WHERE licence_pool <> '' AND (desired = 'running' OR state = 'stopping');

-- How many requests wait stands on every page of those who decide.
CREATE INDEX requests_waiting ON requests (tenant, asker) WHERE state = 'pending';

-- +goose Down
DROP INDEX requests_waiting;
DROP INDEX workloads_seats;
DROP INDEX workloads_holding;
CREATE INDEX workloads_holding ON workloads (tenant, size_name, licence_pool, on_node, id, desired, state) WHERE desired = 'running' OR state = 'stopping';
