// Package license counts NVIDIA license seats: what a site may use (entitlements), what is promised and held
// (checkouts), what the license server says (an Answer), and what the machines say of themselves (a Machine's Devices).
//
// Data goes one way. Entitlements and the last Answer give a Pool its Seats; a grant takes as many as the pool's Rule
// says (Pool.Takes); Reconcile puts the checkouts beside the answer and names every difference; NewForecast
// reads the metered past. All of that is pure. Service is the shell: it keeps what was entered, asks the sources and
// remembers what they last said. A source that is away changes nothing but the age of what is shown: nothing that runs
// is ever stopped for a license.
//
// What a lease is, whom it belongs to and how NVIDIA counts is data in product.go, each row with its source.
package license
