package untrusted

import (
	"strings"
	"testing"
)

func nested(n int) string { return strings.Repeat(`{"a":[`, n/2) + strings.Repeat(`]}`, n/2) }

func TestTooDeep(t *testing.T) {
	cases := map[string]struct {
		text string
		want bool
	}{
		"as deep as allowed":             {nested(MaxDepth), false},
		"one object more":                {`{"a":` + nested(MaxDepth) + `}`, true},
		"side by side":                   {`[` + strings.Repeat(`{"a":[1]},`, 1000) + `1]`, false},
		"brackets in a string":           {`"` + strings.Repeat("[", 100) + `"`, false},
		"a string that ends in a quote":  {`"\\\"` + strings.Repeat("[", 100) + `"`, false},
		"a string that ends in a slash":  {`"\\"` + strings.Repeat("[", 100), true},
		"without an end":                 {strings.Repeat("[", MaxDepth+1), true},
		"closed more often than opened":  {strings.Repeat("]", 100) + strings.Repeat("[", 100), false},
		"nothing":                        {"", false},
		"a slash at the end of the text": {`"\`, false},
	}
	for name, c := range cases {
		if got := TooDeep([]byte(c.text)); got != c.want {
			t.Errorf("%s: want %v, got %v", name, c.want, got)
		}
	}
}
