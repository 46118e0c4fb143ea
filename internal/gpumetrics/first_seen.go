package gpumetrics

import (
	"context"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The gauge of the last XID error has no time, and does not go back: an error of last month looks like one of this
// minute. When it was, only older samples tell.
const (
	UsualRecent = 24 * time.Hour // for how long an error is news, where a site does not say otherwise

	// what is known already is asked for again, so that what is there for longer than the samples last does not stay so
	// forever
	sinceEvery = 5 * time.Minute
	sinceSteps = 576 // five minutes each of two days
)

// sinceWindow is how far back is looked: beyond what is recent, so that of what is old it can be told that it is.
func sinceWindow(recent time.Duration) time.Duration { return 2 * max(recent, UsualRecent) }

// errorKey is one error that is the last one of a device.
type errorKey struct {
	device deviceKey
	code   int
}

// appearance is when an error came to be the last one: zero where nobody can tell.
type appearance struct {
	at     time.Time // a sample at this time had it
	before bool      // and so has every one there is: it came then or earlier
}

// firstSeenIndex are what is known of the errors that are the last ones now.
type firstSeenIndex struct {
	polledAt time.Time
	byError  map[errorKey]appearance
}

// last are the errors that devices have told last.
func (h *healthSampleSet) lastErrors() []errorKey {
	var keys []errorKey
	for device, s := range h.slices {
		if s.last.state == valid && s.last.v > 0 {
			keys = append(keys, errorKey{device, int(s.last.v)})
		}
	}
	return keys
}

// fresh reports whether there is nothing new to be asked about these errors.
func (a firstSeenIndex) fresh(keys []errorKey, now time.Time) bool {
	if now.Sub(a.polledAt) >= sinceEvery {
		return len(keys) == 0
	}
	return !slices.ContainsFunc(keys, func(k errorKey) bool { _, asked := a.byError[k]; return !asked })
}

// pollFirstSeen asks, with one query for all of them, since when errors have been the last ones. Those of which the
// answer says nothing, or that never comes, are unknown until the next time.
func (p *Poller) pollFirstSeen(ctx context.Context, keys []errorKey, now time.Time) firstSeenIndex {
	window, step := p.firstSeenWindow, p.firstSeenWindow/sinceSteps
	seen := map[string]map[errorKey]time.Time{partOther: {}, partFirst: {}}
	_, err := p.query(ctx, "query", url.Values{"query": {p.queries.firstSeen(keys, window, step)}}, newTexts(),
		func(row series) {
			device, named := p.queries.labels.device(row.labels)
			name, code, _ := strings.Cut(row.labels.get(partLabel), "/")
			n, err := strconv.Atoi(code)
			if !named || err != nil || seen[name] == nil || len(row.samples) == 0 {
				return
			}
			// Ages are taken by Prometheus' own clock, as those of readings are.
			sample := row.samples[0]
			if age := float64(sample.at.UnixMilli())/1000 - sample.value; age >= 0 && age < 2*window.Seconds() {
				seen[name][errorKey{device, n}] = now.Add(-time.Duration(age * float64(time.Second))).Truncate(time.Second)
			}
		})
	if err != nil && ctx.Err() == nil {
		p.cfg.Logger.WarnContext(ctx, "no times of errors from Prometheus", "error", err.Error())
	}
	a := firstSeenIndex{polledAt: now, byError: map[errorKey]appearance{}}
	for _, k := range keys {
		a.byError[k] = appearance{}
		if err != nil {
			continue
		}
		if other, ok := seen[partOther][k]; ok {
			at := other.Add(step)
			if at.After(now) {
				at = now
			}
			a.byError[k] = appearance{at: at}
		} else if first, ok := seen[partFirst][k]; ok {
			a.byError[k] = appearance{at: first, before: true}
		}
	}
	return a
}

const (
	partOther = "other" // when a device had another last error, or none, for the last time
	partFirst = "first" // when it had this one for the first time
)

// firstSeen looks at the samples of devices with an error only, which are few. It names the code that a device has now,
// for a value cannot be compared with one at another time in every Prometheus that there is.
func (q queries) firstSeen(keys []errorKey, window, step time.Duration) string {
	cards := map[int]map[string]bool{}
	for _, k := range keys {
		if cards[k.code] == nil {
			cards[k.code] = map[string]bool{}
		}
		cards[k.code][k.device.uuid] = true
	}
	over := "[" + promDuration(window) + ":" + promDuration(step) + "]"
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(cards)) {
		n := strconv.Itoa(code)
		last := q.lastErrors(slices.Sorted(maps.Keys(cards[code])))
		parts = append(parts,
			part(partOther+"/"+n, "max_over_time((("+last+" != "+n+") * 0 + time())"+over+")"),
			part(partFirst+"/"+n, "min_over_time((("+last+" == "+n+") * 0 + time())"+over+")"))
	}
	return strings.Join(parts, " or ")
}

// lastErrors are the last errors of some cards, without DCGM's marks for no value.
func (q queries) lastErrors(uuids []string) string {
	for i, uuid := range uuids {
		uuids[i] = regexp.QuoteMeta(uuid)
	}
	any, before := quote(strings.Join(uuids, "|")), ""
	var rows []string
	for _, label := range q.labels.UUID {
		rows = append(rows, "{__name__=~"+quote(strings.Join(metrics[xidLast].names, "|"))+","+before+label+"=~"+any+"}")
		before += label + `="",`
	}
	return "(" + maxBy(slices.Concat(q.labels.UUID, q.labels.Instance)) + "(" + strings.Join(rows, " or ") + ") >= 0 <= " +
		strconv.Itoa(int(metrics[xidLast].max)) + ")"
}
