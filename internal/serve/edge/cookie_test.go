package edge

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCookiesAreBoundToTheirHost(t *testing.T) {
	for _, name := range []string{Session, SignIn, Flash, Language, Theme, Team, Nav, Workload, State} {
		if !strings.HasPrefix(name, "__Host-") || !Own(name) || !Own(strings.ToUpper(name)) {
			t.Errorf("%s is not bound to its host", name)
		}
	}
	for life, age := range map[time.Duration]int{0: 0, -1: -1, time.Hour: 3600} {
		c := Cookie(Flash, "approved", life)
		if c.MaxAge != age || !c.Secure || !c.HttpOnly || c.Path != "/" || c.Domain != "" ||
			c.SameSite != http.SameSiteLaxMode {
			t.Errorf("%s: %+v", life, c)
		}
	}
}

func TestKeepAndDropOwn(t *testing.T) {
	lines := []string{"a=1; " + Session + "=x; a=2;" + Session + "=y", " __HOST-GPU-workload=z;; b=\"2", "=" + Session +
		"=w"}
	for name, c := range map[string]struct {
		change func(http.Header)
		want   string
	}{
		"keep": {KeepOwn, Session + "=x; " + Session + "=y; __HOST-GPU-workload=z"},
		"drop": {DropOwn, "a=1; a=2; b=\"2; =" + Session + "=w"},
	} {
		h := http.Header{"Cookie": slices.Clone(lines)}
		if c.change(h); h.Get("Cookie") != c.want || len(h["Cookie"]) != 1 {
			t.Errorf("%s: want %q, got %q", name, c.want, h["Cookie"])
		}
	}
	none := http.Header{"Cookie": {"a=1"}}
	if KeepOwn(none); len(none) != 0 {
		t.Errorf("want no header left, got %v", none)
	}
}

func TestEveryValueIsGivenButNotWithoutEnd(t *testing.T) {
	r, _ := http.NewRequest(http.MethodGet, "/", nil)
	r.AddCookie(&http.Cookie{Name: Session, Value: "planted"})
	r.AddCookie(&http.Cookie{Name: Session, Value: "planted"})
	r.AddCookie(&http.Cookie{Name: Session, Value: "real"})
	if got := Values(r, Session); !slices.Equal(got, []string{"planted", "real"}) || Value(r, Session) != "planted" {
		t.Errorf("got %q", got)
	}
	for i := range 1000 {
		r.AddCookie(&http.Cookie{Name: Session, Value: fmt.Sprint(i)})
	}
	if got := Values(r, Session); len(got) != mostValues {
		t.Errorf("want at most %d, got %d", mostValues, len(got))
	}
	if Value(r, Theme) != "" {
		t.Error("a cookie that did not come has a value")
	}
}
