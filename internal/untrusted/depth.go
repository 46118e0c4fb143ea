// Package untrusted bounds JSON from outside before it is parsed: TooDeep refuses nesting beyond MaxDepth.
// encoding/json allows 10,000 levels, and walking such a tree can take far more time than its length suggests.
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
