// Package notify tells people what concerns them: which event becomes which message for whom, and how it gets there.
//
// Path of the data: an event of the audit record -> kindOf (which kind of notice it is, if any) -> Compose (pure: who
// hears of it, through which of the channels they chose, in which words) -> deliveries, written in one transaction with
// the number of the last event that was looked at, so that each event is looked at once and none is left out ->
// Deliver: claim a delivery, send it, mark it. A delivery is unique by event, recipient and channel.
//
// What is promised: at least once, with retries, until the attempts are used up; then it has failed, and the page of
// the administrators shows it. Twice only after a crash between sending and marking: the second one carries the same
// Message-ID, or webhook-id, as the first, by which mail programs and receivers tell.
//
// Mail goes to the server that the configuration names. Chat and webhook addresses are people's own, so they are
// reached through a guard: no address that is not public unless the configuration allows its network, the address that
// was checked is the one dialled, no redirect is followed, and time and size are bounded.
package notify
