package reference

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// Snippet is a program that makes the call with the token in PORTAL_TOKEN.
type Snippet struct{ Language, Text string }

// Snippets are for a portal at this address.
func (o Operation) Snippets(portal string) []Snippet {
	address := strings.TrimSuffix(portal, "/") + o.address()
	return []Snippet{{"curl", o.curl(address)}, {"Go", o.goProgram(address)}, {"Python", o.python(address)}}
}

var inPath = regexp.MustCompile(`\{([A-Za-z]+)\}`)

// address has an example in place of each parameter that a call needs.
func (o Operation) address() string {
	path := inPath.ReplaceAllStringFunc(o.Path, func(in string) string {
		name := strings.Trim(in, "{}")
		for _, p := range o.Parameters {
			if p.In == "path" && p.Name == name {
				return url.PathEscape(p.sample())
			}
		}
		return in
	})
	query := url.Values{}
	for _, p := range o.Parameters {
		if p.In == "query" && p.Required {
			query.Set(p.Name, p.sample())
		}
	}
	if len(query) > 0 {
		return path + "?" + query.Encode()
	}
	return path
}

// sample is an example for a parameter; its name in capitals where there is none.
func (f Field) sample() string {
	for _, l := range f.Limits {
		switch l.Name {
		case "example", "enum", "default":
			first, _, _ := strings.Cut(l.Value, ", ")
			return first
		}
	}
	if text := samples[f.Name]; text != "" {
		return text
	}
	return strings.ToUpper(f.Name)
}

// file is what a body that is not JSON is read from.
const file = "catalog.yaml"

func (o Operation) curl(address string) string {
	var b strings.Builder
	b.WriteString("curl -sS ")
	if o.Method != "GET" {
		fmt.Fprintf(&b, "-X %s ", o.Method)
	}
	fmt.Fprintf(&b, "\\\n  '%s' \\\n  -H \"Authorization: Bearer $PORTAL_TOKEN\"", address)
	if o.Body == nil {
		return b.String()
	}
	fmt.Fprintf(&b, " \\\n  -H 'Content-Type: %s' \\\n  ", o.Body.Type)
	if o.Body.Type != jsonType {
		b.WriteString("--data-binary @" + file)
	} else {
		b.WriteString("-d '" + strings.ReplaceAll(o.Body.Example(), "'", `'\''`) + "'")
	}
	return b.String()
}

func (o Operation) goProgram(address string) string {
	imports, body, make := []string{"fmt", "io", "net/http", "os"}, "nil", ""
	switch {
	case o.Body == nil:
	case o.Body.Type != jsonType:
		body = "body"
		make = fmt.Sprintf("\tbody, err := os.Open(%q)\n\tif err != nil {\n\t\tpanic(err)\n\t}\n", file)
	default:
		imports = append(imports, "strings")
		body, make = "body", fmt.Sprintf("\tbody := strings.NewReader(`%s`)\n", o.Body.Example())
	}
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n")
	for _, name := range imports {
		fmt.Fprintf(&b, "\t%q\n", name)
	}
	fmt.Fprintf(&b, ")\n\nfunc main() {\n%s\treq, err := http.NewRequest(%q, %q, %s)\n", make, o.Method, address, body)
	b.WriteString("\tif err != nil {\n\t\tpanic(err)\n\t}\n" +
		"\treq.Header.Set(\"Authorization\", \"Bearer \"+os.Getenv(\"PORTAL_TOKEN\"))\n")
	if o.Body != nil {
		fmt.Fprintf(&b, "\treq.Header.Set(\"Content-Type\", %q)\n", o.Body.Type)
	}
	b.WriteString("\tanswer, err := http.DefaultClient.Do(req)\n\tif err != nil {\n\t\tpanic(err)\n\t}\n" +
		"\tdefer answer.Body.Close()\n\ttext, err := io.ReadAll(answer.Body)\n\tif err != nil {\n\t\tpanic(err)\n\t}\n" +
		"\tfmt.Println(answer.Status, string(text))\n}\n")
	return b.String()
}

func (o Operation) python(address string) string {
	var b strings.Builder
	b.WriteString("import os\n\nimport requests\n\n")
	fmt.Fprintf(&b, "answer = requests.%s(\n    %q,\n", strings.ToLower(o.Method), address)
	switch {
	case o.Body == nil:
		b.WriteString("    headers={\"Authorization\": f\"Bearer {os.environ['PORTAL_TOKEN']}\"},\n")
	case o.Body.Type != jsonType:
		fmt.Fprintf(&b, "    headers={\n        \"Authorization\": f\"Bearer {os.environ['PORTAL_TOKEN']}\",\n"+
			"        \"Content-Type\": %q,\n    },\n    data=open(%q, \"rb\"),\n", o.Body.Type, file)
	default:
		b.WriteString("    headers={\"Authorization\": f\"Bearer {os.environ['PORTAL_TOKEN']}\"},\n    json=")
		l := asPython
		l.write(&b, o.Body.example, "    ")
		b.WriteString(",\n")
	}
	b.WriteString(")\nanswer.raise_for_status()\nprint(answer.text)\n")
	return b.String()
}
