package secret

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func TestWhatAWorkloadGetsOfEachKind(t *testing.T) {
	for name, c := range map[string]struct {
		draft Draft
		about map[string]string
		env   map[string]string
		files map[string]string
	}{
		"variables are variables, and a file each": {
			draft: Draft{Kind: Variables, Values: map[string]string{"lines": "A=canary-a\r\n\n B_2=x=y \n"}},
			about: map[string]string{"lines": "A, B_2"}, env: map[string]string{"A": "canary-a", "B_2": "x=y "},
			files: map[string]string{"A": "canary-a", "B_2": "x=y "}},
		"a file keeps every character": {
			draft: Draft{Kind: File, Values: map[string]string{"file": "key.json", "content": " {\n\"a\": 1}\n"}},
			about: map[string]string{"file": "key.json"}, env: map[string]string{},
			files: map[string]string{"key.json": " {\n\"a\": 1}\n"}},
		"object storage has what the AWS SDKs read": {
			draft: Draft{Kind: S3, Values: map[string]string{"accessKey": "AKIAIOSFODNN7EXAMPLE", "secretKey": " canary ",
				"endpoint": "https://s3.example.org"}},
			about: map[string]string{"accessKey": "AKIA…", "endpoint": "https://s3.example.org"},
			env: map[string]string{"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "canary",
				"AWS_ENDPOINT_URL": "https://s3.example.org"},
			files: map[string]string{"credentials": "[default]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\n" +
				"aws_secret_access_key = canary\n"}},
		"git has its store, with what an address cannot hold escaped": {
			draft: Draft{Kind: Git, Values: map[string]string{"host": "GitHub.com", "user": "ada", "token": "p@ss/word:1"}},
			about: map[string]string{"host": "github.com", "user": "ada"}, env: map[string]string{},
			files: map[string]string{"git-credentials": "https://ada:p%40ss%2Fword%3A1@github.com\n",
				"netrc": "machine github.com\nlogin ada\npassword p@ss/word:1\n"}},
		"a hub has its token": {
			draft: Draft{Kind: HuggingFace, Values: map[string]string{"token": "hf_canary_of_the_hub"}},
			about: map[string]string{"token": "hf_c…"}, env: map[string]string{"HF_TOKEN": "hf_canary_of_the_hub"},
			files: map[string]string{"token": "hf_canary_of_the_hub"}},
		"a short token shows nothing of itself": {
			draft: Draft{Kind: NGC, Values: map[string]string{"token": "short"}}, about: map[string]string{},
			env:   map[string]string{"NGC_API_KEY": "short", "NGC_CLI_API_KEY": "short"},
			files: map[string]string{"token": "short"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, problems := c.draft.check()
			if len(problems) > 0 {
				t.Fatalf("refused: %v", problems)
			}
			for _, diff := range []string{cmp.Diff(c.about, got.about), cmp.Diff(c.env, got.Env),
				cmp.Diff(c.files, got.Files)} {
				if diff != "" {
					t.Error(diff)
				}
			}
			env, files := got.given(c.draft.Kind)
			for name := range got.Env {
				if !slices.Contains(env, name) {
					t.Errorf("%s is no variable that a workload is rendered with: %v", name, env)
				}
			}
			for name := range got.Files {
				if !slices.Contains(files, name) {
					t.Errorf("%s is no file that a workload is rendered with: %v", name, files)
				}
			}
		})
	}
}

func TestWhatIsWrongIsSaidWithoutTheValue(t *testing.T) {
	const canary = "canary-value-of-a-secret"
	for name, c := range map[string]struct {
		draft Draft
		field string
	}{
		"no such kind":     {Draft{Kind: "ssh"}, "kind"},
		"a field too many": {Draft{Kind: NGC, Values: map[string]string{"token": canary, "other": canary}}, "values"},
		"nothing typed":    {Draft{Kind: NGC, Values: map[string]string{"token": "  "}}, "token"},
		"two words":        {Draft{Kind: NGC, Values: map[string]string{"token": canary + " x"}}, "token"},
		"a NUL":            {Draft{Kind: NGC, Values: map[string]string{"token": canary + "\x00"}}, "token"},
		"no UTF-8":         {Draft{Kind: NGC, Values: map[string]string{"token": canary + "\xff"}}, "token"},
		"a long token":     {Draft{Kind: NGC, Values: map[string]string{"token": strings.Repeat(canary, 1000)}}, "token"},
		"a large file": {Draft{Kind: File, Values: map[string]string{"file": "a", "content": strings.Repeat("x",
			MaxValue)}}, "content"},
		"a path for a file":   {Draft{Kind: File, Values: map[string]string{"file": "../" + "x", "content": canary}}, "file"},
		"a line of no value":  {Draft{Kind: Variables, Values: map[string]string{"lines": "A=1\n" + canary}}, "lines"},
		"a variable twice":    {Draft{Kind: Variables, Values: map[string]string{"lines": "A=" + canary + "\nA=2"}}, "lines"},
		"a reserved variable": {Draft{Kind: Variables, Values: map[string]string{"lines": "LD_PRELOAD=" + canary}}, "lines"},
		"an endpoint with a user": {Draft{Kind: S3, Values: map[string]string{"accessKey": "a", "secretKey": "b",
			"endpoint": "https://ada:" + canary + "@s3.example.org"}}, "endpoint"},
		"a host with a scheme": {Draft{Kind: Git, Values: map[string]string{"host": "https://github.com", "user": "a",
			"token": canary}}, "host"},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := c.draft.check()
			if !slices.ContainsFunc(problems, func(f fault.Field) bool { return f.Name == c.field }) {
				t.Errorf("want a problem of %s, got %v", c.field, problems)
			}
			for _, p := range problems {
				for _, arg := range p.Reason.Args {
					if text, ok := arg.(string); ok && strings.Contains(text, canary) {
						t.Errorf("the value is in what is said: %v", p)
					}
				}
			}
		})
	}
}

// reversing is a key that any test can read.
func reversing(id string) Key {
	return Key{ID: id,
		Seal: func(about, text string) (string, error) {
			return base64.StdEncoding.EncodeToString([]byte(about + "\n" + text)), nil
		},
		Open: func(about, sealed string) (string, error) {
			data, err := base64.StdEncoding.DecodeString(sealed)
			text, ok := strings.CutPrefix(string(data), about+"\n")
			if err != nil || !ok {
				return "", errors.New("does not open")
			}
			return text, nil
		}}
}

func TestASealedTextOpensForItsOwnSecretAlone(t *testing.T) {
	item := Secret{ID: "s-1", Owner: Owner{Person: "p-ada"}, Kind: NGC}
	before, ring := Keyring{reversing("old")}, Keyring{reversing("new"), reversing("old")}
	var err error
	if item.Sealed, err = before.seal(item, "canary"); err != nil {
		t.Fatal(err)
	}
	if text, err := ring.open(item); text != "canary" || err != nil || ring.Current(item.Sealed) {
		t.Errorf("a key of before: %q, %v", text, err)
	}
	if _, err := (Keyring{reversing("new")}).open(item); err == nil {
		t.Error("opened without its key")
	}
	for what, other := range map[string]Secret{"another secret": {ID: "s-2", Owner: item.Owner, Kind: NGC},
		"another person": {ID: "s-1", Owner: Owner{Person: "p-bob"}, Kind: NGC},
		"a team":         {ID: "s-1", Owner: Owner{Tenant: "vision"}, Kind: NGC}} {
		other.Sealed = item.Sealed
		if _, err := ring.open(other); err == nil {
			t.Errorf("%s opened it", what)
		}
	}
}

func TestFindPrefersOnesOwn(t *testing.T) {
	own := Secret{ID: "s-1", Name: "hub", Owner: Owner{Person: "p-ada"}}
	teams := Secret{ID: "s-2", Name: "hub", Owner: Owner{Tenant: "vision"}}
	only := Secret{ID: "s-3", Name: "bucket", Owner: Owner{Tenant: "vision"}}
	all := []Secret{own, teams, only}
	for reference, want := range map[string]string{"hub": "s-1", "team:hub": "s-2", "bucket": "s-3", "team:bucket": "s-3",
		"none": "", "": ""} {
		if got, _ := Find(all, reference); got.ID != want {
			t.Errorf("%q: want %q, got %q", reference, want, got.ID)
		}
	}
}

func TestConflictsNameWhatTwoSecretsSet(t *testing.T) {
	hub := workload.SecretUse{ID: "s-1", Name: "hub", Env: []string{"HF_TOKEN"}}
	other := workload.SecretUse{ID: "s-2", Name: "other", Env: []string{"HF_TOKEN"}}
	twin := workload.SecretUse{ID: "s-3", Name: "hub"}
	for name, c := range map[string]struct {
		uses []workload.SecretUse
		env  map[string]string
		want string
	}{
		"two secrets":                {[]workload.SecretUse{hub, other}, nil, "secrets.same_variable"},
		"two of one name":            {[]workload.SecretUse{hub, twin}, nil, "secrets.same_name"},
		"the environment beside one": {[]workload.SecretUse{hub}, map[string]string{"HF_TOKEN": "x"}, "secrets.env_too"},
		"nothing in common":          {[]workload.SecretUse{hub}, map[string]string{"A": "x"}, ""},
	} {
		var ids []string
		for _, text := range Conflicts(c.uses, c.env) {
			ids = append(ids, text.ID)
		}
		if got := strings.Join(ids, ","); got != c.want {
			t.Errorf("%s: want %q, got %q", name, c.want, got)
		}
	}
}

func TestWhatIsMaskedInLogs(t *testing.T) {
	for name, c := range map[string]struct {
		draft Draft
		want  []string
	}{
		"a key, its longest value first": {Draft{Kind: S3, Values: map[string]string{"accessKey": "AKIA",
			"secretKey": "longer-secret", "region": "eu-central-1"}}, []string{"longer-secret", "AKIA"}},
		"lines of a file that are long enough": {Draft{Kind: File, Values: map[string]string{"file": "k",
			"content": "{\n  \"canary-line\": 1\n}\n"}}, []string{`"canary-line": 1`}},
		"values of variables, not 1": {Draft{Kind: Variables, Values: map[string]string{"lines": "A=1\nB=canary"}},
			[]string{"canary"}},
	} {
		got, problems := c.draft.check()
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if diff := cmp.Diff(c.want, got.seen(c.draft.Kind, got.values)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
