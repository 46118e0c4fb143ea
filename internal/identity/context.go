package identity

import "context"

type actorKey struct{}

// WithActor puts the actor into the context; serve does it once for each call.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorFrom takes the actor out; the zero Actor means that nobody is signed in.
func ActorFrom(ctx context.Context) Actor {
	a, _ := ctx.Value(actorKey{}).(Actor)
	return a
}
