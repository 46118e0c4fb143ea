// Package clusters has the page of the clusters that the portal works with.
package clusters
