package charts

import (
	"bufio"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const folder = "gpu-portal"

//go:embed all:gpu-portal
var files embed.FS

// Load reads the chart.
func Load() (*chart.Chart, error) {
	var all []*loader.BufferedFile
	err := fs.WalkDir(files, folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := files.ReadFile(path)
		all = append(all, &loader.BufferedFile{Name: strings.TrimPrefix(path, folder+"/"), Data: data})
		return err
	})
	if err != nil {
		return nil, err
	}
	return loader.LoadFiles(all)
}

// Render gives the chart's objects as Helm would send them to an API server of this version; nil for a recent one.
func Render(release, namespace, values string, served *chartutil.Capabilities) ([]*unstructured.Unstructured, error) {
	c, err := Load()
	if err != nil {
		return nil, err
	}
	given, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		return nil, err
	}
	if served == nil {
		served = Capabilities("1.36")
	}
	all, err := chartutil.ToRenderValues(c, given, chartutil.ReleaseOptions{Name: release, Namespace: namespace,
		IsInstall: true}, served)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if strings.HasSuffix(name, "NOTES.txt") {
			continue
		}
		more, err := documents(rendered[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		objects = append(objects, more...)
	}
	return objects, nil
}

// Capabilities are those of an API server of a version such as "1.36". Helm as a library knows of 1.20 only.
func Capabilities(version string) *chartutil.Capabilities {
	c := *chartutil.DefaultCapabilities
	c.KubeVersion = chartutil.KubeVersion{Version: "v" + version + ".0", Major: "1",
		Minor: strings.TrimPrefix(version, "1.")}
	return &c
}

// documents reads a file of YAML documents strictly: a key twice is an error.
func documents(text string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	reader := kyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &o.Object); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, document)
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
}
