package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
)

// comments are those of struct types ("Cluster") and of their fields ("Cluster.Name") in a package.
type comments map[string]string

const module = "github.com/gpu-portal/gpu-portal/"

// sources reads the comments of packages once each.
type sources struct {
	root     string
	packages map[string]comments
}

// of gives the comments of the package in which a type is declared.
func (s *sources) of(t reflect.Type) (comments, error) {
	if known, read := s.packages[t.PkgPath()]; read {
		return known, nil
	}
	found := comments{}
	s.packages[t.PkgPath()] = found
	dir := filepath.Join(s.root, filepath.FromSlash(strings.TrimPrefix(t.PkgPath(), module)))
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		found.read(tree)
	}
	return found, nil
}

func (c comments) read(file *ast.File) {
	for _, decl := range file.Decls {
		types, ok := decl.(*ast.GenDecl)
		if !ok || types.Tok != token.TYPE {
			continue
		}
		for _, spec := range types.Specs {
			s := spec.(*ast.TypeSpec)
			about, _, _ := strings.Cut(types.Doc.Text(), "\n\n") // the first paragraph
			c[s.Name.Name] = strings.Join(strings.Fields(about), " ")
			if body, ok := s.Type.(*ast.StructType); ok {
				c.fields(s.Name.Name, body)
			}
		}
	}
}

func (c comments) fields(owner string, body *ast.StructType) {
	for _, field := range body.Fields.List {
		text := words(field.Doc)
		if text == "" {
			text = words(field.Comment)
		}
		for _, name := range field.Names {
			c[owner+"."+name.Name] = text
		}
	}
}

// words is a comment on one line.
func words(g *ast.CommentGroup) string { return strings.Join(strings.Fields(g.Text()), " ") }

// defaultOf finds "; default X" at the end of a meaning.
var defaultOf = regexp.MustCompile(`^(.*?)(?:; |^)default (.+)$`)

// split separates a meaning from the default that it ends with, "" for none.
func split(text string) (meaning, value string) {
	if m := defaultOf.FindStringSubmatch(text); m != nil {
		return m[1], m[2]
	}
	return text, ""
}
