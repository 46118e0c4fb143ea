// Package tenant knows teams: which groups give which role, in which namespace they work, how much of each size they
// may hold, and who belongs to one by hand.
//
// The path of data: the configuration's Directory, over it the newest Revision of each team that was saved in the
// portal, and beside it the members by hand. Service keeps the three together in memory, so that every call decides by
// what counts now without asking the database; what is saved is effective at once, and by other replicas as soon as the
// outbox tells them. A Revision says only what differs from the configuration: the rest goes on following it.
//
// Teams are not deleted: workloads, storage, statements and the audit name them. They are switched off.
package tenant
