// Package endpointkey knows the keys with which programs call model endpoints. A Key is made at one endpoint and may
// open others of its team too; its secret is shown once, and only a hash of it is kept. Pure parts: the key itself
// (key.go), what it may take in a minute (window.go), and how many tokens an answer says it took (counter.go). Service
// makes, rotates and revokes keys for those who may change the endpoint; the gateway asks Key.Check of every call.
package endpointkey
