package store

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/request"
)

// TestWhatIsKeptIsOfItsFilterAlone: a field that narrows a list is in the name of its count and of itself, or neither
// is kept. What orders a list is in its own name.
func TestWhatIsKeptIsOfItsFilterAlone(t *testing.T) {
	t.Parallel()
	list := func(f request.Filter) (string, bool) { return listOf(f, 5) }
	for _, of := range []struct {
		what string
		name func(request.Filter) (string, bool)
		not  []string // they leave out nothing
	}{{"count", countOf, []string{"Sort", "Cursor", "Limit"}}, {"list", list, []string{"Limit"}}} {
		t.Run(of.what, func(t *testing.T) { ofItsFilterAlone(t, of.name, of.not) })
	}
	words := func(f request.Filter, limit int) string { name, _ := listOf(f, limit); return name }
	for _, two := range [][2]string{
		{words(request.Filter{}, 5), words(request.Filter{}, 6)},
		{words(request.Filter{Asker: "1:x"}, 5), words(request.Filter{Asker: "1", About: "x"}, 5)},
		{words(request.Filter{Tenants: []string{"a"}, States: []request.State{"b"}}, 5),
			words(request.Filter{Tenants: []string{"a", "b"}}, 5)},
	} {
		if two[0] == two[1] {
			t.Errorf("want two names, got %q", two[0])
		}
	}
}

func ofItsFilterAlone(t *testing.T, of func(request.Filter) (string, bool), not []string) {
	t.Helper()
	all, common := of(request.Filter{})
	if !common {
		t.Fatal("all requests are common")
	}
	samples := map[reflect.Type]any{reflect.TypeFor[time.Time](): time.Unix(1, 0),
		reflect.TypeFor[*request.Inbox](): &request.Inbox{}}
	for i := range reflect.TypeFor[request.Filter]().NumField() {
		var f request.Filter
		field, value := reflect.TypeFor[request.Filter]().Field(i), reflect.ValueOf(&f).Elem().Field(i)
		if slices.Contains(not, field.Name) {
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
		if name, common := of(f); common && name == all {
			t.Errorf("%s narrows the list, but not the name", field.Name)
		}
	}
	if none, _ := of(request.Filter{Tenants: []string{}}); none == all {
		t.Error("no tenants are not all of them")
	}
}
