package store

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/request"
)

// TestACountIsOfItsFilterAlone: a field that narrows a list is in the name of its count, or the count is not kept.
func TestACountIsOfItsFilterAlone(t *testing.T) {
	t.Parallel()
	all, common := countOf(request.Filter{})
	if !common {
		t.Fatal("the count of all requests is common")
	}
	samples := map[reflect.Type]any{reflect.TypeFor[time.Time](): time.Unix(1, 0),
		reflect.TypeFor[*request.Inbox](): &request.Inbox{}}
	for i := range reflect.TypeFor[request.Filter]().NumField() {
		var f request.Filter
		field, value := reflect.TypeFor[request.Filter]().Field(i), reflect.ValueOf(&f).Elem().Field(i)
		if slices.Contains([]string{"Sort", "Cursor", "Limit"}, field.Name) { // they leave out nothing
			continue
		}
		switch sample, known := samples[field.Type]; {
		case known:
			value.Set(reflect.ValueOf(sample))
		case field.Type.Kind() == reflect.String:
			value.SetString("x")
		case field.Type.Kind() == reflect.Bool:
			value.SetBool(true)
		case field.Type.Kind() == reflect.Slice:
			value.Set(reflect.MakeSlice(field.Type, 1, 1))
		default:
			t.Fatalf("%s needs a sample", field.Name)
		}
		if name, common := countOf(f); common && name == all {
			t.Errorf("%s narrows the list, but not the name of its count", field.Name)
		}
	}
	if none, _ := countOf(request.Filter{Tenants: []string{}}); none == all {
		t.Error("no tenants are not all of them")
	}
}
