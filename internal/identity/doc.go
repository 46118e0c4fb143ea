// Package identity holds people and their rights: a Person is an issuer and a subject with groups from the sign-in
// provider; an Actor is a Person who makes a call, with the roles that follow from the groups. Can decides every right,
// by one table of Actions (can.go), on a Resource. Pure.
//
// session.go has Session, Token and Credential: an id and a secret, of which the store keeps a hash. approvers.go says
// who counts as an approver (Approvers, Principals). context.go carries the Actor of a call.
//
// It leaves to others: the protocol of the provider (identity/oidc), which group gives which role (tenant), storage.
package identity
