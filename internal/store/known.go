package store

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// recent keeps rows as values, of a kind that never changes under its key: to decode a page of them takes longer than
// to find it. What the values point to is shared: whoever reads it changes nothing of it.
type recent[K comparable, Row any] struct {
	mu         sync.Mutex
	young, old map[K]*Row
}

// versionRow is a request at one time of its life. Each change of a row gives it another version, and no row is ever
// deleted, so what was read of a version stays right.
type versionRow struct {
	ID      string
	Version int64
}

// mostRecent bounds each of the two halves of what is kept, some kilobytes a request. When the young half is full it
// becomes the old one, and what was not asked for since goes.
const mostRecent = 1000

func (c *recent[K, Row]) get(of K) *Row {
	c.mu.Lock()
	defer c.mu.Unlock()
	row := c.young[of]
	if row != nil {
		return row
	}
	if row = c.old[of]; row != nil {
		c.put(of, row)
	}
	return row
}

func (c *recent[K, Row]) keep(of K, row *Row) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(of, row)
}

func (c *recent[K, Row]) put(of K, row *Row) {
	if c.young == nil || len(c.young) >= mostRecent {
		c.old, c.young = c.young, make(map[K]*Row, mostRecent)
	}
	c.young[of] = row
}

// requestRows reads the rows of a query, which is asked for anew each time: first what is cheap, which rows at which
// version, then those of them that nobody has read yet. Where one has changed between the two, all is read at once.
func (v view) requestRows(ctx context.Context, query func() *gorm.DB) ([]*requestRow, error) {
	if v.kept == nil {
		return v.readRequests(query())
	}
	list, err := versionsOf(query())
	if err != nil {
		return nil, err
	}
	return v.versionRows(ctx, list, query)
}

// listedRows is requestRows of a list with a name, see listOf: which rows there are is asked once after each change. It
// is not for a transaction, which sees one moment: what is kept may be of a later one.
func (v view) listedRows(ctx context.Context, name string, query func() *gorm.DB) ([]*requestRow, error) {
	now, err := v.LastChange(ctx)
	if err != nil {
		return nil, err
	}
	list, err := v.kept.lists.get(now, name, func() ([]versionRow, error) { return versionsOf(query()) })
	if err != nil {
		return nil, err
	}
	return v.versionRows(ctx, list, query)
}

func versionsOf(query *gorm.DB) ([]versionRow, error) {
	return all[versionRow](query.Model(&requestRow{}).Select("id, version"))
}

// versionRows are the rows of a list.
func (v view) versionRows(ctx context.Context, list []versionRow, query func() *gorm.DB) ([]*requestRow, error) {
	rows, missing := make([]*requestRow, len(list)), map[string]int{}
	for i, of := range list {
		if rows[i] = v.kept.requests.get(of); rows[i] == nil {
			missing[of.ID] = i
		}
	}
	if len(missing) == 0 {
		return rows, nil
	}
	ids := make([]string, 0, len(missing))
	for id := range missing {
		ids = append(ids, id)
	}
	for some := range slices.Chunk(ids, intervalsAtOnce) {
		read, err := v.readRequests(v.at(ctx).Where("id IN ?", some))
		if err != nil {
			return nil, err
		}
		for _, row := range read {
			v.kept.requests.keep(versionRow{row.ID, row.Version}, row)
			if i := missing[row.ID]; list[i].Version == row.Version {
				rows[i] = row
			}
		}
	}
	if slices.Contains(rows, nil) {
		return v.readRequests(query())
	}
	return rows, nil
}

func (v view) readRequests(query *gorm.DB) ([]*requestRow, error) {
	rows, err := all[requestRow](query)
	return each(rows, keepable), err
}

// eventKey is an event: its link was taken over what it says and over all before it, and nobody changes one.
type eventKey struct {
	Seq  int64
	Link string
}

// eventRows reads the rows of a query as requestRows does: which events, then those that nobody has read yet.
func (v view) eventRows(ctx context.Context, query *gorm.DB) ([]*eventRow, error) {
	if v.kept == nil {
		return readEvents(query)
	}
	list, err := all[eventKey](query.Model(&eventRow{}).Select("seq, link"))
	if err != nil {
		return nil, err
	}
	rows, missing, seqs := make([]*eventRow, len(list)), map[int64]int{}, []int64(nil)
	for i, of := range list {
		if rows[i] = v.kept.events.get(of); rows[i] == nil {
			missing[of.Seq], seqs = i, append(seqs, of.Seq)
		}
	}
	if len(missing) == 0 {
		return rows, nil
	}
	read, err := readEvents(v.at(ctx).Where("seq IN ?", seqs))
	if err != nil {
		return nil, err
	}
	for _, row := range read {
		v.kept.events.keep(eventKey{row.Seq, row.Link}, row)
		rows[missing[row.Seq]] = row
	}
	return slices.DeleteFunc(rows, func(row *eventRow) bool { return row == nil }), nil // none was taken away in between
}

func readEvents(query *gorm.DB) ([]*eventRow, error) {
	rows, err := all[eventRow](query)
	return each(rows, func(row eventRow) *eventRow {
		row.Changes = slices.Clip(row.Changes)
		return &row
	}), err
}

// keepable is a row that many may read: what one of them appends to goes into no other's memory. Size and image are
// shared already.
func keepable(row requestRow) *requestRow {
	size, image := row.Spec.is.Size, row.Spec.is.Image
	row.Spec.is.Size, row.Spec.is.Image = catalog.Size{}, catalog.Image{}
	clip(reflect.ValueOf(&row.Spec.is))
	clip(reflect.ValueOf(&row.Decision.is))
	row.Spec.is.Size, row.Spec.is.Image = size, image
	return &row
}

// clip leaves no slice in a value any room to grow into.
func clip(value reflect.Value) {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			clip(value.Elem())
		}
	case reflect.Struct:
		for i := range value.NumField() {
			if field := value.Field(i); field.CanSet() {
				clip(field)
			}
		}
	case reflect.Slice:
		value.SetCap(value.Len())
		for i := range value.Len() {
			clip(value.Index(i))
		}
	case reflect.Map:
		for key, is := range value.Seq2() {
			clipped := reflect.New(is.Type()).Elem()
			clipped.Set(is)
			clip(clipped)
			value.SetMapIndex(key, clipped)
		}
	}
}
