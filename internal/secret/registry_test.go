package secret

import (
	"encoding/base64"
	"encoding/json"
	"testing"
)

func TestAKubeletReadsThePassword(t *testing.T) {
	for host, key := range map[string]string{"harbor.example.org": "harbor.example.org",
		"docker.io": "https://index.docker.io/v1/"} {
		c, problems := Draft{Kind: Registry, Values: map[string]string{"host": host, "user": "robot",
			"password": "p\"w"}}.check()
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		var got struct {
			Auths map[string]struct{ Username, Password, Auth string }
		}
		if err := json.Unmarshal([]byte(c.Files[DockerConfig]), &got); err != nil {
			t.Fatal(err)
		}
		auth, _ := base64.StdEncoding.DecodeString(got.Auths[key].Auth)
		if a := got.Auths[key]; a.Username != "robot" || a.Password != `p"w` || string(auth) != `robot:p"w` {
			t.Errorf("%s: %+v", host, got)
		}
		if _, told := c.about["password"]; told {
			t.Error("something of the password is told")
		}
	}
}
