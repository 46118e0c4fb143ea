package explain

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Schedule is what the scheduler says of a pod that it found no node for.
type Schedule struct {
	Nodes   int // all it looked at
	Clauses []Clause
	Preempt string // what it says of making room; only one phrase there matters
}

// Clause is one reason and for how many nodes it holds. A node can have several, so counts may add up to more than
// there are nodes.
type Clause struct {
	Count  int
	Reason string
}

var (
	scheduleHead = regexp.MustCompile(`^(\d{1,9})/(\d{1,9}) nodes are available`)
	clauseHead   = regexp.MustCompile(`^(\d{1,9}) (.+)$`)
	clauseBreak  = regexp.MustCompile(`, (\d{1,9} )`)
)

const mostClauses = 100

// ParseSchedule reads "0/12 nodes are available: 3 Insufficient nvidia.com/gpu, 4 node(s) had untolerated taint(s).
// preemption: …". A clause without a number holds for all nodes. ok is false for a text that is no such message.
func ParseSchedule(message string) (s Schedule, ok bool) {
	message = strings.TrimSpace(message)
	if strings.HasPrefix(message, "no nodes available to schedule pods") {
		return Schedule{}, true
	}
	head := scheduleHead.FindStringSubmatch(message)
	if head == nil {
		return Schedule{}, false
	}
	s.Nodes, _ = strconv.Atoi(head[2])
	body := strings.TrimLeft(message[len(head[0]):], ":. ")
	if i := strings.Index(body, "preemption:"); i >= 0 {
		body, s.Preempt = body[:i], strings.TrimSpace(body[i:])
	}
	body = strings.TrimRight(body, ". ")
	for _, part := range strings.Split(clauseBreak.ReplaceAllString(body, "\x00$1"), "\x00") {
		part = strings.TrimSpace(part)
		if part == "" || len(s.Clauses) == mostClauses {
			continue
		}
		c := Clause{Count: s.Nodes, Reason: part}
		if m := clauseHead.FindStringSubmatch(part); m != nil {
			c.Count, _ = strconv.Atoi(m[1])
			c.Reason = m[2]
		}
		s.Clauses = append(s.Clauses, c)
	}
	return s, true
}

// has reports whether a clause holds a fragment.
func (s Schedule) has(fragments ...string) bool {
	for _, c := range s.Clauses {
		if containsAny(c.Reason, fragments...) {
			return true
		}
	}
	return false
}

// lacking are the resources that nodes have too little of. Names are whole words: nvidia.com/gpu is not
// nvidia.com/gpu.shared.
func (s Schedule) lacking() []string {
	var names []string
	for _, c := range s.Clauses {
		if _, rest, ok := strings.Cut(c.Reason, "Insufficient "); ok {
			word, _, _ := strings.Cut(rest, " ")
			names = append(names, strings.TrimRight(word, ".,"))
		}
	}
	return names
}

func (s Schedule) lacks(resources ...string) bool {
	return slices.ContainsFunc(s.lacking(), func(name string) bool { return slices.Contains(resources, name) })
}
