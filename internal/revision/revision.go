// Package revision has what services of versioned documents share (catalog, rules, tenants, idle settings, prices):
// Follow reloads when another replica has saved, Readable looks back for the newest revision that this program can
// read.
//
// A revision that cannot be read, after an upgrade or a downgrade, never counts and never makes an older decision come
// back by itself: what decides then is for the document to say (policy: every start needs an approval).
package revision

import (
	"context"
	"time"
)

// Tries is how many revisions are looked through for one that can be read.
const Tries = 50

// Readable finds the newest revision below a version that read can make a document of. Version 0 is the configuration's
// and not looked at: what an administrator has replaced does not come back because its replacement cannot be read.
func Readable[Revision, Document any](ctx context.Context, below int64,
	at func(ctx context.Context, version int64) (Revision, error),
	read func(Revision) (Document, bool)) (r Revision, d Document, found bool, err error) {
	for version := below - 1; version > 0 && version >= below-Tries; version-- {
		if r, err = at(ctx, version); err != nil {
			return r, d, false, err
		}
		if d, found = read(r); found {
			return r, d, true, nil
		}
	}
	return r, d, false, nil
}

// Follow calls refresh until the context ends: at once, when changed tells that there may be something new, and every
// so often anyway. trouble hears of a refresh that failed; the next one tries again.
func Follow(ctx context.Context, changed <-chan struct{}, every time.Duration, refresh func(context.Context) error,
	trouble func(error)) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if err := refresh(ctx); err != nil && ctx.Err() == nil {
			trouble(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-ticker.C:
		}
	}
}
