package page

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// The pace of a stream. A burst of changes is gathered for a moment, so that a page is drawn once and not a hundred
// times.
const (
	gather     = 250 * time.Millisecond
	beatEvery  = 15 * time.Second
	aliveEvery = 3 * time.Second
)

// streams counts open streams by person: whoever signs in once more gets no more of them.
type streams struct {
	most int
	mu   sync.Mutex
	open map[string]int
}

func newStreams(most int) *streams { return &streams{most: most, open: map[string]int{}} }

// enter takes a place; the answer gives it back. ok is false when all places of the person are taken.
func (s *streams) enter(person string) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[person] >= s.most {
		return nil, false
	}
	s.open[person]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open[person]--; s.open[person] <= 0 {
			delete(s.open, person)
		}
	}, true
}

// count is how many are open in all.
func (s *streams) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, open := range s.open {
		n += open
	}
	return n
}

// Streams is how many pages are open and follow what happens.
func (w *Frame) Streams() int { return w.streams.count() }

// live is the one stream of a page. The protocol is the one that views/layout describes: fragments, reload, beat.
func (w *Frame) live(c echo.Context) error {
	k := w.CallOf(c)
	p, ok := w.pages[k.Get("page")]
	if !ok {
		return fault.New(fault.NotFound, i18n.T("web.no_page"))
	}
	leave, ok := w.streams.enter(string(ownPerson(k.Actor)))
	if !ok {
		f := fault.New(fault.TooMany, i18n.T("web.too_many_pages", "Most", w.MaxStreams))
		f.RetryAfter = time.Minute
		return f
	}
	defer leave()
	// Following begins before the first reading, so that nothing happens unseen between the two.
	decides := w.Approvals.Decides(k.Actor)
	follower := w.Hub.Follow(func(change live.Change) bool {
		return (decides && change.Topic == live.TopicRequest) || follows(k.Actor, p, change)
	})
	defer follower.Close()
	s := &stream{web: w, call: k, page: p, out: newEvents(c), sent: map[string]uint64{},
		alarms: cmp.Or(k.Get(alarmsParam), w.alarms())}
	if err := s.build(); err != nil {
		return err
	}
	s.out.open()
	// What changed between the page and its stream is in these; the rest makes no difference to the page.
	if err := s.draw(everything); err != nil {
		return nil
	}
	if err := s.health(); err != nil {
		return nil
	}
	return s.run(follower)
}

// ownPerson is who looks, also through somebody else's eyes.
func ownPerson(a identity.Actor) identity.PersonID {
	if a.Impersonator != nil {
		return a.Impersonator.ID
	}
	return a.Person.ID
}

// follows reports whether a change can alter what this actor sees on this page.
func follows(a identity.Actor, p Page, change live.Change) bool {
	switch {
	case change.Topic == live.TopicMetrics:
		return true
	case !slices.Contains(p.Topics, change.Topic):
		return false
	case change.Topic == live.TopicInventory, a.SeesAll(), change.Tenant == "":
		return true
	}
	return p.Everyones || a.Member(change.Tenant) || identity.PersonID(change.Person) == a.Person.ID
}

// stream is one open page.
type stream struct {
	web    *Frame
	call   Call
	page   Page
	view   View
	out    *events
	sent   map[string]uint64 // what the page shows now, by part
	alarms string            // what the strips of the page tell now
	told   bool              // its readings were drawn since the last beat
}

// run sends until the page goes away or its session ends.
func (s *stream) run(f *live.Follower) error {
	beat, alive := time.NewTicker(beatEvery), time.NewTicker(aliveEvery)
	defer beat.Stop()
	defer alive.Stop()
	ctx := s.call.Ctx
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
			if err = s.aged(); err == nil {
				err = s.out.send("beat", map[string]string{"at": s.asOf()})
			}
		case <-alive.C:
			if !s.web.SessionAlive(ctx) {
				return s.out.send("reload", struct{}{})
			}
			err = s.health()
		case change := <-f.C:
			err = s.changed(f, change)
		}
		if err != nil {
			return nil // the browser has gone, or it asks again and is told why
		}
	}
}

// health lets the page fetch its strips again when something has gone away or come back: a part of the portal, or the
// license of a node.
func (s *stream) health() error {
	alarms := s.web.alarms()
	if alarms == s.alarms {
		return nil
	}
	s.alarms = alarms
	return s.out.send("reload", map[string]string{"id": "gp-strips"})
}

// alarmsParam carries in the address of a stream what the strips of its page tell: something may go away between the
// page and its stream.
const alarmsParam = "alarms"

// alarms is a short form of what the strips tell: what is away, and which nodes have lost their license.
func (w *Frame) alarms() string {
	sum := fnv.New64a()
	fmt.Fprint(sum, w.Health(), w.Licenses.Unlicensed()) // maps are printed in the order of their keys
	return strconv.FormatUint(sum.Sum64(), 36)
}

func (s *stream) asOf() string {
	at := s.view.AsOf
	if at.IsZero() {
		at = s.web.Now()
	}
	return at.UTC().Format(time.RFC3339)
}

// changed gathers what else comes within a moment, then draws once.
func (s *stream) changed(f *live.Follower, first live.Change) error {
	onlyMetrics := first.Topic == live.TopicMetrics
	timer := time.NewTimer(gather)
	defer timer.Stop()
	for waiting := true; waiting; {
		select {
		case <-s.call.Ctx.Done():
			return s.call.Ctx.Err()
		case change := <-f.C:
			onlyMetrics = onlyMetrics && change.Topic == live.TopicMetrics
		case <-timer.C:
			waiting = false
		}
	}
	if f.TakeLost() {
		return s.out.send("reload", struct{}{})
	}
	if onlyMetrics {
		return s.tick()
	}
	if err := s.build(); err != nil {
		return s.out.send("reload", struct{}{}) // the page itself says what is wrong
	}
	return s.draw(everything)
}

// Build reads everything that the page shows.
func (s *stream) build() error {
	s.call.Words = s.web.wordsIn(s.call.Ctx)
	v, err := s.page.Build(s.call)
	if err != nil {
		return err
	}
	v.Parts = append(v.Parts, s.web.frameParts(s.call)...)
	s.view = v
	return nil
}

func everything(Part) bool { return true }

// aged draws the readings when nothing new came since the last beat, so that a page says how old they are. While polls
// come, there is nothing to add to what they drew.
func (s *stream) aged() error {
	told := s.told
	s.told = false
	if told {
		return nil
	}
	err := s.tick()
	s.told = false
	return err
}

// tick draws the parts that show readings, from what was read last.
func (s *stream) tick() error {
	s.told = true
	s.call.Words = s.web.wordsIn(s.call.Ctx)
	return s.draw(func(p Part) bool { return p.Ticks })
}

// fragment is one element that takes the place of the one with its id.
type fragment struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}

// Draw sends the parts that do not look as they did.
func (s *stream) draw(which func(Part) bool) error {
	var fragments []fragment
	ctx := ui.WithLocalizer(s.call.Ctx, s.call.Words.Localizer)
	for _, p := range s.view.Parts {
		if !which(p) {
			continue
		}
		var buffer bytes.Buffer
		if err := p.Draw(s.call.Words).Render(ctx, &buffer); err != nil {
			return err
		}
		sum := fnv.New64a()
		_, _ = sum.Write(buffer.Bytes())
		if s.sent[p.ID] == sum.Sum64() {
			continue
		}
		s.sent[p.ID] = sum.Sum64()
		fragments = append(fragments, fragment{ID: p.ID, HTML: buffer.String()})
	}
	// What shows no readings is built anew before it is drawn again: thousands of open pages need not keep it.
	s.view = View{AsOf: s.view.AsOf, Parts: slices.DeleteFunc(s.view.Parts, func(p Part) bool { return !p.Ticks })}
	if len(fragments) == 0 {
		return nil
	}
	return s.out.send("fragments", fragments)
}

// events writes server-sent events.
type events struct {
	response   http.ResponseWriter
	controller *http.ResponseController
}

func newEvents(c echo.Context) *events {
	response := c.Response()
	return &events{response: response, controller: http.NewResponseController(response)}
}

// open sends the head at once, so that the page knows it is connected. The stream may last for hours: the server's
// Write deadline is lifted.
func (e *events) open() {
	h := e.response.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	e.response.WriteHeader(http.StatusOK)
	_ = e.controller.SetWriteDeadline(time.Time{})
	_ = e.controller.Flush()
}

func (e *events) send(name string, data any) error {
	body, err := json.Marshal(data)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(e.response, "event: %s\ndata: %s\n\n", name, body); err != nil {
		return err
	}
	return e.controller.Flush()
}

// frameParts are the live parts outside the content: the number of requests that wait for the reader.
func (w *Frame) frameParts(k Call) []Part {
	if !w.Approvals.Decides(k.Actor) {
		return nil
	}
	n, err := w.Waiting(k)
	if err != nil {
		return nil
	}
	count := func(id string) Part {
		return Part{ID: id, Draw: countOf(id, n)}
	}
	return []Part{count("nav-waiting"), count("gp-waiting")}
}

func countOf(id string, n int) func(Words) templ.Component {
	return func(say Words) templ.Component {
		return ui.Count(ui.CountModel{Count: n, Words: say.S("web.waiting", "Count", n), ID: id})
	}
}
