package policy

import (
	"reflect"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Example is a sample request to try rules on in the editor.
type Example struct {
	Title i18n.Text
	Facts Facts
}

// Examples are the samples that most rules distinguish. Their team has quota left, and their size is free.
func Examples() []Example {
	usual := Facts{Kind: "start", Workload: "notebook", Tenant: "vision", Person: "dana@example.org",
		Roles: []string{"developer"}, Technology: "mig", Isolation: "hard",
		Share: 1.0 / 7, Hours: 8, Cost: 8, QuotaLimit: 4, QuotaLeft: 4, Free: 3, Hour: 10, Weekday: 2, SeatsLeft: -1,
		SeatsTotal: -1}
	with := func(id string, change func(*Facts)) Example {
		f := usual
		change(&f)
		return Example{Title: i18n.T("policy.example." + id), Facts: f}
	}
	whole := func(f *Facts) { f.Technology, f.Share, f.GPUs, f.Cost = "full", 1, 1, 31 }
	return []Example{
		with("slice", func(*Facts) {}),
		with("slice_days", func(f *Facts) { f.Hours, f.Cost = 48, 48 }),
		with("slice_long", func(f *Facts) { f.Hours, f.Cost = 96, 96 }),
		with("shared", func(f *Facts) { f.Technology, f.Isolation, f.Share, f.Cost = "time-slicing", "none", 0.25, 5 }),
		with("cpu", func(f *Facts) { f.Technology, f.Isolation, f.Share, f.Cost = "", "none", 0, 1 }),
		with("whole", whole),
		with("four", func(f *Facts) { whole(f); f.GPUs, f.Hours, f.Cost = 4, 24, 374 }),
		with("endpoint", func(f *Facts) { whole(f); f.Workload, f.Hours, f.Cost = "endpoint", 72, 281 }),
		with("extend", func(f *Facts) { f.Kind, f.Hours, f.Cost = "extend", 80, 80 }),
		with("night", func(f *Facts) { whole(f); f.Hour, f.Weekday = 23, 6 }),
		with("budget", func(f *Facts) { f.BudgetSet, f.BudgetLeft, f.BudgetCost = true, 0.05, 0.1 }),
		with("last_seats", func(f *Facts) {
			f.Technology, f.Isolation, f.Share, f.SeatPool, f.SeatsTaken, f.SeatsLeft, f.SeatsTotal = "vgpu", "memory", 0.25,
				"nvidia-vws", 1, 2, 24
		}),
		with("scarce", func(f *Facts) { whole(f); f.Free, f.QuotaUsed, f.QuotaLeft = 0, 3, 1 }),
	}
}

// Fact describes one variable of rules: its name, CEL type and meaning.
type Fact struct {
	Name    string
	Type    string
	Meaning i18n.Text
}

// FactNames lists every fact in order, from the type itself.
func FactNames() []Fact {
	return factsOf(reflect.TypeFor[Facts](), "request.", "policy.fact.")
}

// factsOf lists the fields of a struct, and those of structs in it by their path.
func factsOf(t reflect.Type, path, text string) []Fact {
	types := map[reflect.Kind]string{reflect.String: "string", reflect.Float64: "double", reflect.Int64: "int",
		reflect.Bool: "bool", reflect.Slice: "list(string)"}
	var list []Fact
	for i := range t.NumField() {
		name := t.Field(i).Tag.Get("cel")
		if f := t.Field(i).Type; f.Kind() == reflect.Struct {
			list = append(list, factsOf(f, path+name+".", text+name+"_")...)
			continue
		}
		list = append(list, Fact{Name: path + name, Type: types[t.Field(i).Type.Kind()], Meaning: i18n.T(text + name)})
	}
	return list
}
