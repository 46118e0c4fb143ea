-- +goose Up

-- Up to when after until_at nobody can tell whether the size was still held: the cluster was silent. That time is told and not charged.
ALTER TABLE meter_intervals ADD COLUMN unknown_until BIGINT;

-- +goose Down
ALTER TABLE meter_intervals DROP COLUMN unknown_until;
