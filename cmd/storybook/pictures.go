package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/chromium"
)

// shown are the pages that the documents have a picture of: the file, and the story.
var shown = []struct{ file, story string }{
	{"home", "home/busy"}, {"start", "start/first-visit"}, {"workload", "workload/running"},
	{"connect", "workload/connect-notebook"}, {"usage", "usage/the-team-by-person"},
	{"approvals", "requests/approvals"}, {"overview", "platform/a-working-day"}, {"map", "fleet/map"},
	{"sizes", "sizes/as-configured"}, {"rule", "rules/form-of-a-rule"},
	{"reference", "help/an-operation"}, {"licenses", "licenses/an-administrator-s-look"},
}

// The window of a picture, and the time that a browser may take.
const (
	pictureWidth, pictureHeight = 1366, 768
	pictureTime                 = 2 * time.Minute
)

// takePictures makes them all with a headless browser, in the light and in English.
func takePictures(ctx context.Context, browser, folder string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler(), ReadHeaderTimeout: 10 * time.Second}
	defer server.Close()
	go func() { _ = server.Serve(listener) }()
	for _, s := range shown {
		address := fmt.Sprintf("http://%s/story/%s?lang=en&theme=light", listener.Addr(), s.story)
		file := filepath.Join(folder, s.file+".png")
		if err := takePicture(ctx, browser, address, file); err != nil {
			return fmt.Errorf("%s: %w", s.story, err)
		}
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		fmt.Printf("%s %d kB\n", file, info.Size()/1000)
	}
	return nil
}

func takePicture(ctx context.Context, browser, address, file string) error {
	answer, err := http.Get(address) //nolint:noctx // its own server
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("there is no such story: %s", answer.Status)
	}
	ctx, cancel := context.WithTimeout(ctx, pictureTime)
	defer cancel()
	dir, err := os.MkdirTemp("", "pictures-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	raw := filepath.Join(dir, "page.png")
	out, err := chromium.Command(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
		"--disable-background-networking", fmt.Sprintf("--window-size=%d,%d", pictureWidth, pictureHeight),
		"--screenshot="+raw, address).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", browser, err, out)
	}
	b, err := os.ReadFile(raw)
	if err != nil {
		return err
	}
	whole, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		return err
	}
	var small bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&small, fewColors(whole)); err != nil {
		return err
	}
	return os.WriteFile(file, small.Bytes(), 0o644)
}

// mostColors is what a byte for each pixel can tell apart.
const mostColors = 256

// fewColors keeps the colors that most pixels have; each of the others becomes the nearest of those. Pages have few
// colors and many shades at the edges of letters, so nobody sees it, and nothing is dithered. Of colors with as many
// pixels, those that stay lie all over.
func fewColors(from image.Image) *image.Paletted {
	bounds, counts := from.Bounds(), map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(from.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[at(x, y)]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(number(a), number(b)))
	})
	palette := color.Palette{}
	for _, c := range colors[:min(len(colors), mostColors)] {
		palette = append(palette, c)
	}
	nearest := map[color.RGBA]uint8{}
	for _, c := range colors {
		nearest[c] = uint8(palette.Index(c)) //nolint:gosec // fewer than 256
	}
	to := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			to.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	return to
}

// number scatters neighbors (Fibonacci hashing), the same way each time.
func number(c color.RGBA) uint32 {
	return (uint32(c.R)<<16 | uint32(c.G)<<8 | uint32(c.B)) * 2654435769
}
