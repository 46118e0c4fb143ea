// Package logging makes the portal's logger and changes its level at run time.
//
// New gives a slog.Logger that writes text (logfmt) or JSON lines. Its handler adds the attributes that With has put in
// the context: request, actor, workload, cluster. An attribute of the record or of Logger.With wins over one of the
// same name in the context, so no line carries a key twice.
//
// Levels is the level at run time: an override that administrators set through the API, with an end, kept in the
// database so that every replica goes by it. Past its end the level of the settings applies again.
package logging
