package main

// One line for each package of stories.
import (
	_ "github.com/gpu-portal/gpu-portal/internal/web/webtest" // pages
	_ "github.com/gpu-portal/gpu-portal/views/stories"        // controls and frames
)
