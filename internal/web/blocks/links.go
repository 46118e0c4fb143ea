package blocks

import (
	"net/url"
)

// AppURL is where a workload is opened, "" for anything that is not an http address: a link must never run a script.
func (w *Blocks) AppURL(name string) string {
	if w.AppsURL == nil {
		return ""
	}
	return httpOnly(w.AppsURL(name))
}

// OutsideURL is where programs outside the company network call an endpoint, "" where none can.
func (w *Blocks) OutsideURL(name string) string {
	if w.ExternalURL == nil {
		return ""
	}
	return httpOnly(w.ExternalURL(name))
}

func httpOnly(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return ""
	}
	return u.String()
}
