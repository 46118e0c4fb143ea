package memo_test

import (
	"errors"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/memo"
)

// TestAnAnswerIsKept: under its key and for its time, and never from the future of a clock that was set back.
func TestAnAnswerIsKept(t *testing.T) {
	t.Parallel()
	var m memo.Memo[int, string]
	worked, start := 0, time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for i, c := range []struct {
		key  int
		at   time.Duration
		work int // how often it was worked out by then
	}{{1, 0, 1}, {1, 9 * time.Second, 1}, {2, 9 * time.Second, 2}, {1, 9 * time.Second, 3}, {1, 18 * time.Second, 3},
		{1, 19 * time.Second, 4}, {1, -time.Hour, 5}} {
		got, err := m.Get(c.key, start.Add(c.at), 10*time.Second, func() (string, error) {
			worked++
			return "answer", nil
		})
		if got != "answer" || err != nil || worked != c.work {
			t.Errorf("step %d: want it worked out %d times, got %q, %v, %d times", i, c.work, got, err, worked)
		}
	}
}

// TestAnErrorIsNotKept: the next one who asks may be luckier.
func TestAnErrorIsNotKept(t *testing.T) {
	t.Parallel()
	var m memo.Memo[int, string]
	away, now := errors.New("away"), time.Now()
	if _, err := m.Get(0, now, time.Minute, func() (string, error) { return "", away }); !errors.Is(err, away) {
		t.Errorf("want the error, got %v", err)
	}
	if got, err := m.Get(0, now, time.Minute, func() (string, error) { return "here", nil }); got != "here" || err != nil {
		t.Errorf("want it worked out again, got %q, %v", got, err)
	}
}
