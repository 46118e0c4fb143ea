package stack

// User is a person who can sign in.
type User struct {
	Sub    string   `json:"sub"`
	Name   string   `json:"name"`
	Email  string   `json:"email"`
	Groups []string `json:"groups"`
	What   string   `json:"what"`
}

// People are everybody: each role once, a second developer beside the first, and developers of other teams.
func People() []User {
	return []User{
		person("dana", "Dana Develop", "developer of team vision", "gpu-vision-developers"),
		person("devi", "Devi Develop", "another developer of team vision", "gpu-vision-developers"),
		person("otto", "Otto Owner", "owner of team vision", "gpu-vision-owners"),
		person("ada", "Ada Approve", "approver", "gpu-approvers"),
		person("pat", "Pat Platform", "platform administrator", "gpu-admins"),
		person("audrey", "Audrey Audit", "auditor", "gpu-auditors"),
		person("nora", "Nora Speech", "developer of team speech", "gpu-speech-developers"),
		person("lena", "Lena Lab", "developer of team lab, which has every size (demo only)", "gpu-lab-developers"),
	}
}

func person(sub, name, what string, groups ...string) User {
	return User{Sub: sub, Name: name, Email: sub + "@example.org", Groups: groups, What: what}
}
