-- +goose Up

-- How many requests wait for somebody's word is counted in this alone.
CREATE INDEX request_asks_waiting ON request_asks (asks, request, from_at);

-- +goose Down
DROP INDEX request_asks_waiting;
