// Package untrusted bounds texts that others wrote before a parser works on them: encoding/json nests 10,000 levels,
// and what walks such a tree afterwards may need much more time than the text has bytes.
package untrusted

// MaxDepth is how deep objects and lists of JSON may nest. The deepest body of the API has 6 levels, a catalog 11.
const MaxDepth = 32

// TooDeep reports whether JSON nests deeper than MaxDepth. It passes over the text once, keeps nothing, and does not
// ask whether it is valid: brackets inside strings do not count.
func TooDeep(data []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
