package store

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// requestCache keeps requests as values by their version: to decode a page of them takes longer than to find it. Each
// change of a row gives it another version, and no row is ever deleted, so what was read of a version stays right. What
// the values point to is shared: whoever reads it changes nothing of it.
type requestCache struct {
	mu         sync.Mutex
	young, old map[versionRow]*requestRow
}

// versionRow is a request at one time of its life.
type versionRow struct {
	ID      string
	Version int64
}

// mostRequests bounds each of the two halves of the cache, some kilobytes a request. When the young half is full it
// becomes the old one, and what was not asked for since goes.
const mostRequests = 1000

func (c *requestCache) get(of versionRow) *requestRow {
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

func (c *requestCache) keep(row *requestRow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(versionRow{row.ID, row.Version}, row)
}

func (c *requestCache) put(of versionRow, row *requestRow) {
	if c.young == nil || len(c.young) >= mostRequests {
		c.old, c.young = c.young, make(map[versionRow]*requestRow, mostRequests)
	}
	c.young[of] = row
}

// requestRows reads the rows of a query, which is asked for anew each time: first what is cheap, which rows at which
// version, then those of them that nobody has read yet. Where one has changed between the two, all is read at once.
func (v view) requestRows(ctx context.Context, query func() *gorm.DB) ([]*requestRow, error) {
	if v.kept == nil {
		return v.readRequests(query())
	}
	list, err := all[versionRow](query().Model(&requestRow{}).Select("id, version"))
	if err != nil {
		return nil, err
	}
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
			v.kept.requests.keep(row)
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
