-- +goose Up

-- How often the lead was taken. Whoever leads writes under the number that it took, and is refused once there is a higher one.
CREATE TABLE leadership (
  id    BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
  epoch BIGINT NOT NULL
);
INSERT INTO leadership (id, epoch) VALUES (1, 0);

-- +goose Down
DROP TABLE leadership;
