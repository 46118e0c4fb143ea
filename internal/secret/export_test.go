package secret

// For tests with notify.Guard, which stands on packages that stand on this one.
var (
	SignIn     = signIn
	ErrRefused = errRefused
	ErrSilent  = errSilent
)
