package main

import (
	"image"
	"image/color"
	"net/http/httptest"
	"testing"
)

// The pages that have a picture are there.
func TestPicturesHaveTheirStories(t *testing.T) {
	if len(shown) != 12 {
		t.Errorf("want twelve, got %d", len(shown))
	}
	for _, s := range shown {
		answer := httptest.NewRecorder()
		handler().ServeHTTP(answer, httptest.NewRequest("GET", "/story/"+s.story+"?lang=en", nil))
		if answer.Code != 200 {
			t.Errorf("%s: %d", s.story, answer.Code)
		}
	}
}

func TestAPictureKeepsItsMainColors(t *testing.T) {
	from := image.NewRGBA(image.Rect(0, 0, 100, 10))
	for x := range 100 {
		for y := range 10 {
			from.SetRGBA(x, y, color.RGBA{uint8(x), uint8(y), 7, 255})
		}
	}
	for x := range 50 {
		for y := range 10 {
			from.SetRGBA(x, y, color.RGBA{200, 100, 50, 255})
		}
	}
	to := fewColors(from)
	if len(to.Palette) > mostColors {
		t.Errorf("want at most %d colors, got %d", mostColors, len(to.Palette))
	}
	if got := to.At(3, 3); got != (color.RGBA{200, 100, 50, 255}) {
		t.Errorf("want what most pixels have as it is, got %v", got)
	}
	for x := 50; x < 100; x++ {
		got, ok := to.At(x, 9).(color.RGBA)
		if !ok || max(got.R, uint8(x))-min(got.R, uint8(x)) > 12 {
			t.Errorf("%d: want a color that is near, got %v", x, to.At(x, 9))
		}
	}
}
