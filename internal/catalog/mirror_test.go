package catalog

import "testing"

const sum = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestMirrorOf(t *testing.T) {
	for name, c := range map[string]struct {
		mirror      Mirror
		image, want string
	}{
		"no mirror": {Mirror{}, "quay.io/jupyter/base:1" + sum, "quay.io/jupyter/base:1" + sum},
		"tag and digest stay": {Mirror{Registry: "mirror.example.org"}, "quay.io/jupyter/base:1" + sum,
			"mirror.example.org/jupyter/base:1" + sum},
		"below a path": {Mirror{Registry: "mirror.example.org/copies"}, "quay.io/jupyter/base" + sum,
			"mirror.example.org/copies/jupyter/base" + sum},
		"a slash too many": {Mirror{Registry: "mirror.example.org/copies/"}, "quay.io/a/b:1",
			"mirror.example.org/copies/a/b:1"},
		"ports of both":    {Mirror{Registry: "mirror:5000"}, "reg.example.org:443/a/b:1", "mirror:5000/a/b:1"},
		"a port is no tag": {Mirror{Registry: "m.example.org"}, "localhost:5000/a", "m.example.org/a"},
		"localhost":        {Mirror{Registry: "m.example.org"}, "localhost/a:1", "m.example.org/a:1"},
		"Docker Hub, short": {Mirror{Registry: "m.example.org"}, "python:3.13",
			"m.example.org/library/python:3.13"},
		"Docker Hub, short with a digest": {Mirror{Registry: "m.example.org"}, "python" + sum,
			"m.example.org/library/python" + sum},
		"Docker Hub, of a user": {Mirror{Registry: "m.example.org"}, "vllm/vllm-openai:v1",
			"m.example.org/vllm/vllm-openai:v1"},
		"Docker Hub, by its name": {Mirror{Registry: "m.example.org"}, "docker.io/python",
			"m.example.org/library/python"},
		"Docker Hub, by its old name": {Mirror{Registry: "m.example.org"}, "index.docker.io/a/b", "m.example.org/a/b"},
		"there already": {Mirror{Registry: "m.example.org/copies"}, "m.example.org/vision/train:1",
			"m.example.org/vision/train:1"},
		"a port makes another registry": {Mirror{Registry: "m.example.org"}, "m.example.org:5000/a:1", "m.example.org/a:1"},
		"excepted": {Mirror{Registry: "m.example.org", Except: []string{"reg.example.org:5000"}},
			"reg.example.org:5000/a/b:1", "reg.example.org:5000/a/b:1"},
		"another than the excepted": {Mirror{Registry: "m.example.org", Except: []string{"reg.example.org:5000"}},
			"reg.example.org/a/b:1", "m.example.org/a/b:1"},
		"Docker Hub is excepted": {Mirror{Registry: "m.example.org", Except: []string{"docker.io"}}, "python", "python"},
		"no image":               {Mirror{Registry: "m.example.org"}, "", ""},
	} {
		got := c.mirror.Of(c.image)
		if got != c.want {
			t.Errorf("%s: want %q, got %q", name, c.want, got)
		}
		if twice := c.mirror.Of(got); twice != got {
			t.Errorf("%s: once more gives %q", name, twice)
		}
		if Pinned(c.image) && !Pinned(got) {
			t.Errorf("%s: %q is not pinned any more", name, got)
		}
	}
}

func TestMirrorProblem(t *testing.T) {
	for m, fine := range map[string]bool{
		"": true, "mirror.example.org": true, "mirror:5000": true, "mirror.example.org:5000/a/b-c": true, "localhost": true,
		"mirror.example.org/": true, "https://mirror.example.org": false, "mirror": false, "mirror/copies": false,
		"mirror.example.org/a:1": false, "mirror.example.org//a": false, "Mirror.example.org": false,
		"m.example.org/a" + sum: false, "m.example.org/a b": false, "/": false,
	} {
		if err := (Mirror{Registry: m}).Problem(); (err == nil) != fine {
			t.Errorf("%q: %v", m, err)
		}
	}
	for e, fine := range map[string]bool{"docker.io": true, "reg:5000": true, "reg/a": false, "": false} {
		if err := (Mirror{Registry: "m.example.org", Except: []string{e}}).Problem(); (err == nil) != fine {
			t.Errorf("except %q: %v", e, err)
		}
	}
	if (Mirror{Except: []string{"docker.io"}}).Problem() == nil {
		t.Error("exceptions of nothing")
	}
}
