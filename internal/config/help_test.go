package config

import "testing"

func TestHelp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		help  Help
		wrong int
		link  string
	}{
		"nothing": {Help{}, 0, ""},
		"both": {Help{StatusURL: "https://status.example.org/gpu", Contact: "https://chat.example.org"}, 0,
			"https://chat.example.org"},
		"an address": {Help{Contact: "gpu-help@example.org"}, 0, "mailto:gpu-help@example.org"},
		"no scheme":  {Help{StatusURL: "status.example.org"}, 1, ""},
		"a script": {Help{StatusURL: "javascript:alert(1)", Contact: "javascript:alert(1)"}, 2,
			"mailto:javascript:alert(1)"},
		"mail headers":  {Help{Contact: "a?cc=b@example.org"}, 1, "mailto:a?cc=b@example.org"},
		"with a secret": {Help{StatusURL: "https://user:secret@example.org"}, 1, ""},
	} {
		if got := c.help.problems(); len(got) != c.wrong {
			t.Errorf("%s: want %d problems, got %v", name, c.wrong, got)
		}
		if got := c.help.ContactURL(); got != c.link {
			t.Errorf("%s: want %q, got %q", name, c.link, got)
		}
	}
}
