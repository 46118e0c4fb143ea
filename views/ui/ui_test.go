package ui

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

func render(t *testing.T, c templ.Component) *goquery.Document {
	t.Helper()
	var b bytes.Buffer
	if err := c.Render(WithLocalizer(context.Background(), german), &b); err != nil {
		t.Fatal(err)
	}
	doc, err := goquery.NewDocumentFromReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestMeterNeverOverflows(t *testing.T) {
	cases := map[string]struct {
		shares []float64
		want   []bar
	}{
		"two parts stand side by side":       {[]float64{.5, .25}, []bar{{0, 500, FillUsed}, {500, 250, FillUsed}}},
		"more than everything is everything": {[]float64{.7, .7}, []bar{{0, 700, FillUsed}, {700, 300, FillUsed}}},
		"nothing draws nothing":              {[]float64{0, -1}, nil},
		"a trace can be seen":                {[]float64{.001}, []bar{{0, 8, FillUsed}}},
		"a trace at the end stays inside":    {[]float64{.999, .001}, []bar{{0, 999, FillUsed}, {992, 8, FillUsed}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var m MeterModel
			for _, s := range c.shares {
				m.Segments = append(m.Segments, SegmentModel{Fill: FillUsed, Share: s})
			}
			if diff := cmp.Diff(c.want, m.bars(), cmp.AllowUnexported(bar{}), cmpopts.EquateApprox(0, .001)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMeterSaysWhatItShows(t *testing.T) {
	doc := render(t, Meter(MeterModel{Label: "Quota", Value: "6 of 8", Segments: []SegmentModel{{FillUsed, .5, "4 in use"},
		{FillIdle, .25, "2 idle"}}}))
	if want, got := "Quota: 6 of 8, 4 in use, 2 idle", doc.Find("svg").AttrOr("aria-label", ""); want != got {
		t.Errorf("want %q, got %q", want, got)
	}
}

// An unknown reading must never look like a zero.
func TestSparklineHasGapsWhereNothingIsKnown(t *testing.T) {
	cases := map[string]struct {
		values []float64
		runs   int
	}{
		"all known":        {[]float64{0, .5, 1}, 1},
		"a gap":            {[]float64{0, math.NaN(), 1}, 2},
		"gaps at the ends": {[]float64{math.NaN(), .5, math.NaN()}, 1},
		"nothing known":    {[]float64{math.NaN(), math.NaN()}, 0},
		"no readings":      {nil, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			line, area := SparklineModel{Values: c.values, Max: 1}.paths()
			if got := strings.Count(line, "M"); c.runs != got {
				t.Errorf("want %d runs, got %d in %q", c.runs, got, line)
			}
			if strings.Contains(line+area, "NaN") {
				t.Errorf("NaN is drawn: %q", line+area)
			}
		})
	}
}

func TestFieldTiesItsProblemToTheControl(t *testing.T) {
	doc := render(t, Field(FieldModel{Name: "hours", Label: "Dauer", Kind: NumberField, Hint: "Höchstens 72.",
		Error: "Zu lang."}))
	input := doc.Find("input")
	if want, got := "hours-error hours-hint", input.AttrOr("aria-describedby", ""); want != got {
		t.Errorf("want %q, got %q", want, got)
	}
	if input.AttrOr("aria-invalid", "") != "true" {
		t.Error("the control is not marked as invalid")
	}
	if got := strings.TrimSpace(doc.Find("#hours-error").Text()); got != "Zu lang." {
		t.Errorf("the problem reads %q", got)
	}
}

func TestButtonThatCannotBeUsedSaysWhyAndDoesNotSubmit(t *testing.T) {
	button := render(t, Button(ButtonModel{Label: "Starten", Kind: Primary,
		Why: "Das Kontingent ist aufgebraucht."})).Find("button")
	if button.AttrOr("type", "") != "button" || button.AttrOr("aria-disabled", "") != "true" {
		t.Error("it could still be pressed")
	}
	if !strings.Contains(button.Text(), "Das Kontingent ist aufgebraucht.") {
		t.Errorf("no reason in %q", button.Text())
	}
	if _, disabled := button.Attr("disabled"); disabled {
		t.Error("a disabled button cannot be reached with the keyboard, and so its reason neither")
	}
}

func TestWordsOfControlsAreInTheReadersLanguage(t *testing.T) {
	if got := render(t, Copy(CopyModel{Value: "x", Label: "Nummer"})).Find("button").AttrOr("aria-label",
		""); got != "Nummer kopieren" {
		t.Errorf("got %q", got)
	}
}

func TestValuesAreEscaped(t *testing.T) {
	doc := render(t, Table(TableModel{ID: "t", Caption: `<script>alert(1)</script>`}))
	if doc.Find("script").Length() > 0 {
		t.Error("a value became markup")
	}
	link := render(t, LinkButton(LinkButtonModel{Label: "x", Href: "javascript:alert(1)"})).Find("a")
	if strings.HasPrefix(link.AttrOr("href", ""), "javascript:") {
		t.Error("a link runs a script")
	}
}

// TestTheScaleOfAChart has round numbers, and the size of what is full where that is known.
func TestTheScaleOfAChart(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for name, c := range map[string]struct {
		chart ChartModel
		lang  string
		want  string
	}{
		"a slice's memory": {ChartModel{Values: []float64{4, nan, 6.3}, Top: 10, Unit: "GiB"}, "de",
			"10 GiB, 7,5 GiB, 5 GiB, 2,5 GiB, 0 GiB"},
		"per cent": {ChartModel{Values: []float64{3}, Top: 100, Unit: "%"}, "en",
			"100 %, 75 %, 50 %, 25 %, 0 %"},
		"no top is known": {ChartModel{Values: []float64{312, 370}, Unit: "W"}, "en",
			"400 W, 300 W, 200 W, 100 W, 0 W"},
		"more than the top": {ChartModel{Values: []float64{12}, Top: 10, Unit: "GiB"}, "en",
			"12 GiB, 9 GiB, 6 GiB, 3 GiB, 0 GiB"},
		"little":                {ChartModel{Values: []float64{0.3}}, "en", "0.4, 0.3, 0.2, 0.1, 0"},
		"nothing but unknown":   {ChartModel{Values: []float64{nan, nan}, Unit: "W"}, "en", "4 W, 3 W, 2 W, 1 W, 0 W"},
		"zero, which is a word": {ChartModel{Values: []float64{0}}, "en", "4, 3, 2, 1, 0"},
	} {
		if got := strings.Join(c.chart.ticks(i18n.MustLoad().For(c.lang)), ", "); got != c.want {
			t.Errorf("%s: want %s, got %s", name, c.want, got)
		}
	}
	if got := (ChartModel{Values: []float64{1.234, nan, 3}}).readings(); got != "1.23,,3" {
		t.Errorf("a script knows gaps, got %q", got)
	}
}

// TestAGapInAChartIsMarked: what is not known between two readings is an area of its own; before the first and after
// the last there is nothing to mark.
func TestAGapInAChartIsMarked(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		chart ChartModel
		want  string
	}{
		"between":       {ChartModel{Values: []float64{1, nan, nan, 2, 3}}, "M0.0 0H450.0V160H0.0Z"},
		"two":           {ChartModel{Values: []float64{1, nan, 2, nan, 3}}, "M0.0 0H300.0V160H0.0ZM300.0 0H600.0V160H300.0Z"},
		"at the ends":   {ChartModel{Values: []float64{nan, 1, 2, nan}}, ""},
		"what is ahead": {ChartModel{Values: []float64{1, nan, 2}, Ahead: []float64{3, 4}}, "M0.0 0H300.0V160H0.0Z"},
		"none known":    {ChartModel{Values: []float64{nan, nan}}, ""},
	} {
		if got := c.chart.gaps(); got != c.want {
			t.Errorf("%s: want %q, got %q", name, c.want, got)
		}
	}
}
