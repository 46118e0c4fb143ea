package embed

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func sample() Address {
	return Address{ID: "e-1", Panel: Workload, Subject: "w-1", Theme: Dark, Maker: "p-ada", Until: noon.Unix() + 60}
}

func sign(t *testing.T, key string, a Address) string {
	t.Helper()
	token, err := Signer{Key: []byte(key)}.Sign(a)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestATokenSaysWhatWasSigned(t *testing.T) {
	token := sign(t, "key", sample())
	got, err := Signer{Key: []byte("key")}.Verify(token, noon)
	if err != nil || got != sample() {
		t.Errorf("want %v, got %v %v", sample(), got, err)
	}
	if again := sign(t, "key", sample()); again != token {
		t.Error("a second replica signs otherwise")
	}
}

// TestNothingOfATokenCanBeChanged: another value of each field, with the signature of before, and with that of another
// address.
func TestNothingOfATokenCanBeChanged(t *testing.T) {
	token := sign(t, "key", sample())
	_, mac, _ := strings.Cut(token, ".")
	for field, change := range map[string]func(*Address){
		"id": func(a *Address) { a.ID = "e-2" }, "panel": func(a *Address) { a.Panel = Fleet },
		"subject": func(a *Address) { a.Subject = "w-2" }, "theme": func(a *Address) { a.Theme = Light },
		"maker": func(a *Address) { a.Maker = "p-bob" }, "end": func(a *Address) { a.Until += 3600 },
	} {
		a := sample()
		change(&a)
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		forged := base64.RawURLEncoding.EncodeToString(text) + "." + mac
		if _, err := (Signer{Key: []byte("key")}).Verify(forged, noon); !errors.Is(err, ErrSignature) {
			t.Errorf("%s: want it refused, got %v", field, err)
		}
		if _, err := (Signer{Key: []byte("key")}).Verify(sign(t, "other key", a), noon); !errors.Is(err, ErrSignature) {
			t.Errorf("%s: signed with another key: want it refused, got %v", field, err)
		}
	}
}

func TestATokenIsReadInOneFormOnly(t *testing.T) {
	token := sign(t, "key", sample())
	said, mac, _ := strings.Cut(token, ".")
	for name, text := range map[string]string{"nothing": "", "no signature": said, "an empty one": said + ".",
		"padding": said + "." + mac + "=", "a longer one": token + "AA", "a line break": said + ".\n" + mac,
		"cut": token[:len(token)-1], "two dots": said + "." + mac + "." + mac, "very long": strings.Repeat("A", 5000),
		"other bits after the end": token[:len(token)-1] + string(token[len(token)-1]+1)} {
		if _, err := (Signer{Key: []byte("key")}).Verify(text, noon); !errors.Is(err, ErrSignature) {
			t.Errorf("%s: want it refused, got %v", name, err)
		}
	}
}

func TestATokenEnds(t *testing.T) {
	token, s := sign(t, "key", sample()), Signer{Key: []byte("key")}
	if _, err := s.Verify(token, noon.Add(59*time.Second)); err != nil {
		t.Errorf("a second before: %v", err)
	}
	for _, after := range []time.Duration{60 * time.Second, 24 * time.Hour} {
		if _, err := s.Verify(token, noon.Add(after)); !errors.Is(err, ErrEnded) {
			t.Errorf("%s later: want it ended, got %v", after, err)
		}
	}
}
