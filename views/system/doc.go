// Package system draws the page System: what the portal stands on, its processes and jobs.
package system
