package revision

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestReadableLooksBack(t *testing.T) {
	for name, c := range map[string]struct {
		readable map[int64]bool
		below    int64
		want     int64
		found    bool
	}{
		"the one before":              {map[int64]bool{4: true, 2: true}, 5, 4, true},
		"further back":                {map[int64]bool{2: true, 1: true}, 5, 2, true},
		"none":                        {nil, 5, 0, false},
		"the first has nothing below": {map[int64]bool{1: true}, 1, 0, false},
		"never the configuration's":   {map[int64]bool{0: true}, 5, 0, false},
		"as far as it looks":          {map[int64]bool{50: true}, 100, 50, true},
		"no further":                  {map[int64]bool{49: true}, 100, 0, false},
	} {
		r, d, found, err := Readable(context.Background(), c.below,
			func(_ context.Context, version int64) (int64, error) { return version, nil },
			func(version int64) (string, bool) { return "text", c.readable[version] })
		if err != nil || found != c.found || found && (r != c.want || d != "text") {
			t.Errorf("%s: want %d %v, got %d %v %v", name, c.want, c.found, r, found, err)
		}
	}
	away := errors.New("away")
	if _, _, found, err := Readable(context.Background(), 3,
		func(context.Context, int64) (int64, error) { return 0, away },
		func(int64) (int, bool) { return 0, true }); !errors.Is(err, away) || found {
		t.Errorf("want the trouble, got %v %v", found, err)
	}
}

func TestFollowTriesAgain(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	changed, troubles, calls := make(chan struct{}, 1), 0, 0
	err := Follow(ctx, changed, time.Hour, func(context.Context) error {
		if calls++; calls == 2 {
			cancel()
			return nil
		}
		changed <- struct{}{}
		return errors.New("away")
	}, func(error) { troubles++ })
	if err != nil || calls != 2 || troubles != 1 {
		t.Errorf("want one failure told and one more try, got %d calls, %d troubles, %v", calls, troubles, err)
	}
}
