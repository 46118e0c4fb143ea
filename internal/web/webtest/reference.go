package webtest

import (
	"sync"

	"github.com/gpu-portal/gpu-portal/internal/api"
	"github.com/gpu-portal/gpu-portal/internal/reference"
)

// apiReference is that of the API itself.
var apiReference = sync.OnceValues(func() (reference.Document, error) {
	document, err := api.New(api.Deps{Version: "test"}).Document()
	if err != nil {
		return reference.Document{}, err
	}
	return reference.Parse(document)
})
