// Package accounts is what somebody has at the portal, and how it is taken from them: sign-ins, API tokens, workloads,
// storage and requests. People look after their own sign-ins and tokens, administrators after everybody's.
//
// Disable -> the store ends the sessions in the same transaction and refuses tokens from then on; open pages and
// connections to workloads hear of it through the outbox -> Holdings says what is left -> Transfer gives it, tenant by
// tenant, to another member in one transaction. Enable lets the person sign in again; nothing comes back by it.
package accounts
