// Storybook shows every component and page in each of its states, without a database and without a cluster:
//
//	go run ./cmd/storybook            then open the address it prints
//
//	go run ./cmd/storybook -pictures docs/pictures   makes the pictures of the documents, with a headless Chromium
//
// ?theme=dark|light and ?lang=de choose how to look at it; ?lang=en-XA stretches every text.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/chromium"
)

func main() {
	addr := flag.String("listen", "127.0.0.1:8090", "address to listen on")
	pictures := flag.String("pictures", "", "folder to make the pictures of the documents in, and end")
	browser := flag.String("browser", "", "program that makes them (default: the headless shell of Chromium, or Chromium)")
	flag.Parse()
	if *pictures != "" {
		program, err := *browser, error(nil)
		if program == "" {
			program, err = chromium.Find()
		}
		if err == nil {
			err = takePictures(context.Background(), program, *pictures)
		}
		if err != nil {
			log.Fatal(err)
		}
		return
	}
	fmt.Printf("storybook on http://%s/\n", *addr)
	server := &http.Server{Addr: *addr, Handler: handler(), ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}
