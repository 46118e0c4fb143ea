// Package delegation knows who decides requests in whose place, from when until when.
//
// Somebody who decides requests names a delegate (Service.Create) -> every call that signs somebody in asks For whom
// they stand -> request asks the rights of those, one by one, when it looks for an approver whose answer counts. A
// delegate decides with the rights that the other person has at that moment: what that person lost is lost for both.
// Nobody stands in for themselves, and what somebody has from others they cannot pass on.
package delegation
