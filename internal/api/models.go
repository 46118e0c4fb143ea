package api

import (
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/sizing"
)

// Model is what an endpoint serves.
type Model struct {
	Source        string `json:"source,omitempty" enum:"hub,storage,s3,oci" doc:"Where it comes from, see the runtime of the image; by the look of the name when absent"`
	Name          string `json:"name,omitempty" maxLength:"500" example:"Qwen/Qwen2.5-7B-Instruct" doc:"On the hub; a path below /shared/<volume> of the team; s3://bucket/path; or an image with digest"`
	Revision      string `json:"revision,omitempty" maxLength:"200" doc:"Of the hub: commit, tag or branch"`
	ContextLength int    `json:"contextLength,omitempty" minimum:"0" doc:"Tokens; the model's own when absent"`
	Quantization  string `json:"quantization,omitempty" maxLength:"40" doc:"One of those of the runtime; as the weights are stored when absent"`
}

func (m *Model) draft() *catalog.Model {
	if m == nil {
		return nil
	}
	return &catalog.Model{Source: catalog.ModelSource(m.Source), Name: m.Name, Revision: m.Revision,
		ContextLength: m.ContextLength, Quantization: m.Quantization}
}

func modelView(m *catalog.Model) *Model {
	if m == nil {
		return nil
	}
	return &Model{Source: string(m.Source), Name: m.Name, Revision: m.Revision, ContextLength: m.ContextLength,
		Quantization: m.Quantization}
}

// Runtime is what an image of kind endpoint serves models with.
type Runtime struct {
	Engine        string        `json:"engine" enum:"vllm,triton,nim,llama.cpp,other"`
	Sources       []ModelSource `json:"sources" doc:"Where models may come from"`
	Default       *Model        `json:"default,omitempty" doc:"Served where a start names no model"`
	Optional      bool          `json:"optional" doc:"The image has a model of its own"`
	Quantizations []string      `json:"quantizations"`
}

// ModelSource is one kind of place that models come from.
type ModelSource struct {
	Kind string   `json:"kind" enum:"hub,storage,s3,oci"`
	From []string `json:"from,omitempty" doc:"What a name must begin with, up to a slash; absent: anything"`
}

func runtimeView(r *catalog.Runtime) *Runtime {
	if r == nil {
		return nil
	}
	v := &Runtime{Engine: string(r.Engine), Default: modelView(r.Default), Optional: r.Optional,
		Quantizations: append([]string{}, r.Quantizations...)}
	for _, s := range r.Sources {
		v.Sources = append(v.Sources, ModelSource{Kind: string(s.Kind), From: s.From})
	}
	return v
}

// ModelFit is a model, and what its name tells of the memory that it takes.
type ModelFit struct {
	Model
	Estimate *Estimate `json:"estimate,omitempty" doc:"GPU memory for one replica; absent where the name does not tell how large the model is"`
	RoomGiB  float64   `json:"roomGiB,omitempty" doc:"What one replica has on the size"`
	Fits     *bool     `json:"fits,omitempty" doc:"By the estimate; a start is not refused for it"`
	Smallest string    `json:"smallest,omitempty" doc:"Size of the team with the least memory that has room"`
}

func modelFitView(p request.Preview, l *i18n.Localizer) *ModelFit {
	m := modelView(p.Spec.Model)
	if m == nil {
		return nil
	}
	v := &ModelFit{Model: *m}
	if f := p.Model; f != nil {
		estimate, fits := estimateView(f.Estimate, l), f.Fits()
		v.Estimate, v.Fits, v.RoomGiB, v.Smallest = &estimate, &fits, f.RoomGiB, f.Smallest.Name
	}
	return v
}

func estimateView(e sizing.Estimate, l *i18n.Localizer) Estimate {
	v := Estimate{GiB: hundredths(e.GiB), GB: hundredths(e.GB()), Given: e.Given, Parts: []EstimatePart{}}
	for _, p := range e.Parts {
		v.Parts = append(v.Parts, EstimatePart{What: l.Say(p.What), Formula: p.Formula, GiB: hundredths(p.GiB)})
	}
	return v
}
