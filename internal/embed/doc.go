// Package embed gives out addresses with which pages of other sites show a panel of the portal: the GPU use of a
// workload, the usage of a team, the fleet, the licenses. An address is read only, ends at a time, and shows what the
// person who made it may see at the moment when it is looked at.
//
// address.go signs and verifies what an address says (Address, Signer; pure). service.go makes, lists, revokes and
// opens them (Service): an address counts only while its record is in the database and its maker has the right.
package embed
