// Package metrics draws how well the GPU metrics of each cluster are.
package metrics
