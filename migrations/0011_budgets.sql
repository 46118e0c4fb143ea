-- +goose Up

-- What a team may use in each month: amount in the smallest part of the unit, minor units of a currency or thousandths of a GPU-hour. A team without a row is not limited.
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

-- The books: one row a transaction, one column an account. What does not sum to zero is refused here. Rows are only ever added.
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

-- +goose Down
DROP TABLE budget_shares;
DROP TABLE budget_balances;
DROP TABLE budget_transactions;
DROP TABLE budgets;
