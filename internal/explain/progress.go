package explain

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Progress is how far a program says that it is. Share is between 0 and 1.
type Progress struct {
	Counters []Counter
	Share    float64
}

// Counter is "epoch 2/3". Unit is one of epoch, step, iteration and batch.
type Counter struct {
	Unit        string
	Done, Total int
}

// counter is how training loops write it: "Epoch 2/3", "epoch: 2 of 3", "step [118/780]".
var counter = regexp.MustCompile(
	`(?i)\b(epoch|step|iter|iteration|batch)s?\b[\s:=#\[(]{0,3}(\d{1,9})\s?(?:/|of)\s?(\d{1,9})`)

// bar is tqdm's, as the Trainer of transformers draws it. One with words before it is that of a download or of a file
// that is read, and says nothing of the whole.
var bar = regexp.MustCompile(`^\s*(\d{1,3})%\|`)

// ProgressOf is what the newest line that counts says; ok is false where none does. A counter within another, steps of
// an epoch, is a part of it.
func ProgressOf(lines []string) (p Progress, ok bool) {
	for _, line := range slices.Backward(lines) {
		line = line[strings.LastIndexByte(line, '\r')+1:] // a bar is drawn over itself
		if p = (Progress{Counters: counters(line)}); len(p.Counters) > 0 {
			p.Share = p.Counters[0].share()
			if outer := p.Counters[0]; len(p.Counters) > 1 && outer.Done > 0 {
				p.Share = (float64(outer.Done-1) + p.Counters[1].share()) / float64(outer.Total)
			}
			return p, true
		}
		if m := bar.FindStringSubmatch(line); m != nil {
			if percent, _ := strconv.Atoi(m[1]); percent <= 100 {
				return Progress{Share: float64(percent) / 100}, true
			}
		}
	}
	return Progress{}, false
}

// leastDone is how much is done before the pace says anything: what loads and compiles at first is slow.
const leastDone = 0.05

// Left is how long the rest takes at the pace since the program began; 0 where that cannot be said yet.
func (p Progress) Left(since time.Duration) time.Duration {
	if p.Share < leastDone || p.Share >= 1 || since <= 0 {
		return 0
	}
	return time.Duration(float64(since) * (1 - p.Share) / p.Share)
}

// counters are those of one line, the outermost first, as programs write them.
func counters(line string) (list []Counter) {
	for _, m := range counter.FindAllStringSubmatch(line, 2) {
		c := Counter{Unit: strings.ToLower(m[1])}
		if c.Unit == "iter" {
			c.Unit = "iteration"
		}
		c.Done, _ = strconv.Atoi(m[2])
		c.Total, _ = strconv.Atoi(m[3])
		if c.Done <= c.Total && c.Total > 0 && (len(list) == 0 || list[0].Unit != c.Unit) {
			list = append(list, c)
		}
	}
	return list
}

func (c Counter) share() float64 { return float64(c.Done) / float64(c.Total) }
