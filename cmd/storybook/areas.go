package main

// One line for each area that brings stories.
import (
	_ "github.com/gpu-portal/gpu-portal/internal/web/webtest" // every page of the portal
	_ "github.com/gpu-portal/gpu-portal/views/layout"
	_ "github.com/gpu-portal/gpu-portal/views/search"
	_ "github.com/gpu-portal/gpu-portal/views/ui"
)
