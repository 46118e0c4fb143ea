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
	kaiHead      = "no nodes with enough resources were found:"
	kaiBreak     = regexp.MustCompile(`\.\s+(\d{1,9} )`)
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
	if _, body, found := strings.Cut(message, kaiHead); found {
		return parseKAI(body), true
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
	s.Clauses = clausesOf(body, clauseBreak, s.Nodes)
	return s, true
}

// parseKAI reads what follows kaiHead: "5 node(s) didn't have enough resources: GPUs. \n2 node(s) had untolerated
// taint(s)." The number of nodes is not told.
func parseKAI(body string) Schedule {
	s := Schedule{Clauses: clausesOf(body, kaiBreak, 0)}
	for _, c := range s.Clauses {
		s.Nodes += c.Count
	}
	return s
}

// clausesOf splits a list of clauses before the numbers that they begin with. A clause without one holds for all nodes.
func clausesOf(body string, before *regexp.Regexp, all int) []Clause {
	var list []Clause
	for _, part := range strings.Split(before.ReplaceAllString(body, "\x00$1"), "\x00") {
		part = strings.Trim(part, ". \n\t")
		if part == "" || len(list) == mostClauses {
			continue
		}
		c := Clause{Count: all, Reason: part}
		if m := clauseHead.FindStringSubmatch(part); m != nil {
			c.Count, _ = strconv.Atoi(m[1])
			c.Reason = m[2]
		}
		list = append(list, c)
	}
	return list
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
