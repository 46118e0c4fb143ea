package reconcile

// For the tests of this package, which are outside of it.
var (
	Owns        = owns
	WorthSaving = worthSaving
	WarnAt      = warnAt
	Fits        = fits
	Slim        = slim
	NewObject   = newObject
	NewLedger   = newLedger
	ExistingOf  = existing
)

// Wait and Wrote are the ledger's.
var (
	Wait  = (*ledger).wait
	Wrote = (*ledger).wrote
	Gone  = (*ledger).gone
)

// WithFields gives an object as it would be found after it was applied.
func Applied(o Object, uid string) Existing {
	return Existing{Owner: o.Owner, UID: uid, Version: "1", Hash: o.Hash, Labelled: true}
}

// KindOf and the names of the table.
var KindOf = kindOf

func KindNames() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}
