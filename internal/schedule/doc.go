// Package schedule says when something shall run: weekly windows by the clocks of a time zone, without holidays. It is
// pure: values in, values out, and the rules of time zones of the standard library, which are built in.
//
// hours.go is what somebody wants (Hours) and what can be wrong with it (Check). calendar.go gives its changes: New
// puts hours and holidays together, Calendar.On, Last, Next and Between look at a moment or a stretch of time.
// zone.go turns the clock of a zone into an instant. ics.go writes a calendar for other programs.
//
// Where clocks are put forward, a time that they skip is the moment of the jump, for a start and for a stop. Where they
// are put back, a time comes twice: a start takes the first, a stop the second, so that nothing runs shorter than the
// clock on the wall says. A day that a zone leaves out has no hours.
//
// Nothing that is computed here is kept: instants are asked for anew from the rules of the zone as they are known now,
// so that a zone that changes its rules moves what is ahead and repeats nothing.
package schedule
