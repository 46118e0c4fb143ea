package endpointkey

// Usage is what an answer says of the tokens that it took.
type Usage struct{ Prompt, Completion int }

// Counter finds the usage in the bytes of an answer as they pass by: in a JSON object, or in the events of a stream,
// of which the last one that tells counts. It knows the words of the OpenAI routes (usage.prompt_tokens,
// usage.completion_tokens) and those of /v1/responses and /v1/messages. It keeps a few bytes, however long the answer,
// and no text that a model writes can be taken for usage: only keys of the outermost objects are looked at.
type Counter struct {
	stream bool
	line   int  // how much of "data:" the line has begun with; -1 for another line
	data   bool // within a data line
	empty  bool // the line so far
	events int

	depth   int
	objects uint64 // bit d: what is open at depth d is an object, not a list
	text    bool   // within a string
	escaped bool
	key     [20]byte
	length  int  // of the key; -1 while a string is no key
	wants   bool // a key comes next
	word    word
	inner   bool // within the response or message of the outermost object
	usage   int  // the depth of the usage object, 0 outside it
	number  int
	digits  int // of the number; -1 for one that is no whole number

	found Usage
	seen  bool
}

type word int8

const (
	otherWord word = iota
	usageWord
	promptWord
	completionWord
	innerWord
)

var words = map[string]word{"usage": usageWord, "prompt_tokens": promptWord, "input_tokens": promptWord,
	"completion_tokens": completionWord, "output_tokens": completionWord, "response": innerWord, "message": innerWord}

// NewCounter counts in an event stream, or in one JSON object.
func NewCounter(stream bool) *Counter { return &Counter{stream: stream, empty: true} }

// Usage is what was found; false where the answer told nothing.
func (c *Counter) Usage() (Usage, bool) { return c.found, c.seen }

// Events is how many events of a stream had an object in them: about as many as tokens, where the stream tells none.
func (c *Counter) Events() int { return c.events }

// Write looks at the next bytes; it never fails.
func (c *Counter) Write(p []byte) (int, error) {
	if !c.stream {
		for _, b := range p {
			c.json(b)
		}
		return len(p), nil
	}
	for _, b := range p {
		switch {
		case b == '\n':
			if c.empty {
				c.reset()
			}
			c.line, c.data, c.empty = 0, false, true
		case b == '\r':
		case c.data:
			c.json(b)
		default:
			c.empty = false
			if c.line >= 0 && b == "data:"[c.line] {
				if c.line++; c.line == len("data:") {
					c.data = true
				}
			} else {
				c.line = -1
			}
		}
	}
	return len(p), nil
}

// reset begins another object: an event has ended.
func (c *Counter) reset() {
	c.depth, c.text, c.escaped, c.inner, c.usage, c.word = 0, false, false, false, 0, otherWord
	c.wants, c.digits = false, 0
}

func (c *Counter) json(b byte) {
	if c.text {
		c.inText(b)
		return
	}
	switch b {
	case '"':
		c.text, c.length = true, -1
		if c.wants {
			c.length = 0
		}
	case ':':
		c.wants = false
	case ',':
		c.keep()
		c.wants, c.word = c.isObject(), otherWord
	case '{', '[':
		c.open(b == '{')
	case '}', ']':
		c.close()
	default:
		c.digit(b)
	}
}

func (c *Counter) inText(b byte) {
	switch {
	case c.escaped:
		c.escaped = false
	case b == '\\':
		c.escaped = true
		if c.length >= 0 {
			c.length = len(c.key) + 1 // no word of ours
		}
		return
	case b == '"':
		c.text = false
		if c.length >= 0 {
			c.word = otherWord
			if c.length <= len(c.key) {
				c.word = words[string(c.key[:c.length])]
			}
		}
		return
	}
	if c.length < 0 {
		return
	}
	if c.length < len(c.key) {
		c.key[c.length] = b
	}
	if c.length <= len(c.key) {
		c.length++
	}
}

func (c *Counter) isObject() bool { return c.depth > 0 && c.depth < 64 && c.objects>>c.depth&1 == 1 }

func (c *Counter) open(object bool) {
	outer := c.isObject() && (c.depth == 1 || c.depth == 2 && c.inner)
	if object && outer && c.word == usageWord && c.usage == 0 {
		c.usage = c.depth + 1
	}
	if c.depth == 1 {
		c.inner = object && c.word == innerWord
	}
	c.depth++
	if c.depth < 64 {
		c.objects &^= 1 << c.depth
		if object {
			c.objects |= 1 << c.depth
		}
	}
	if c.depth == 1 && object {
		c.events++
	}
	c.wants, c.word = object, otherWord
}

func (c *Counter) close() {
	c.keep()
	if c.depth == c.usage {
		c.usage = 0
	}
	c.depth = max(0, c.depth-1)
	c.wants, c.word = false, otherWord
}

func (c *Counter) digit(b byte) {
	if c.usage == 0 || c.depth != c.usage || c.word != promptWord && c.word != completionWord {
		return
	}
	switch {
	case b >= '0' && b <= '9' && c.digits >= 0 && c.digits < 12:
		c.number = c.number*10 + int(b-'0')
		c.digits++
	case b == ' ', b == '\t', b == '\r', b == '\n':
	default:
		c.digits = -1
	}
}

// keep ends a number.
func (c *Counter) keep() {
	if c.digits > 0 {
		c.seen = true
		if c.word == promptWord {
			c.found.Prompt = c.number
		} else {
			c.found.Completion = c.number
		}
	}
	c.number, c.digits = 0, 0
}
