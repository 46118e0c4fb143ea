package catalog

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a length of time as people write it: "8h", "90m", "3d", "1d12h". It travels as that text.
type Duration time.Duration

// Std is the standard library's form.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// ParseDuration reads a Duration; days are 24 hours. Negative values, fractions of a day and empty text are errors.
func ParseDuration(text string) (Duration, error) {
	text = strings.TrimSpace(text)
	if text == "" || strings.HasPrefix(text, "-") || len(text) > 32 {
		return 0, fmt.Errorf("not a length of time: %q", text)
	}
	var days time.Duration
	if head, tail, found := strings.Cut(text, "d"); found {
		n, err := strconv.ParseUint(head, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("not a length of time: %q", text)
		}
		days, text = time.Duration(n)*24*time.Hour, tail
		if text == "" {
			return Duration(days), nil
		}
	}
	rest, err := time.ParseDuration(text)
	if err != nil || rest < 0 {
		return 0, fmt.Errorf("not a length of time: %q", text)
	}
	if days+rest < days {
		return 0, fmt.Errorf("too long: %q", text)
	}
	return Duration(days + rest), nil
}

// String is the shortest form that ParseDuration reads back: "3d", "8h", "1h30m", "45s".
func (d Duration) String() string {
	rest := time.Duration(d)
	text := ""
	if days := rest / (24 * time.Hour); days > 0 {
		text, rest = fmt.Sprintf("%dd", days), rest%(24*time.Hour)
	}
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if n := rest / u.unit; n > 0 {
			text, rest = text+fmt.Sprintf("%d%s", n, u.name), rest%u.unit
		}
	}
	if text == "" {
		return "0s"
	}
	return text
}

// MarshalJSON writes the text form.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads the text form.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("a length of time is text such as \"8h\"")
	}
	v, err := ParseDuration(text)
	*d = v
	return err
}
