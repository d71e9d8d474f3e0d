package powershell

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"
)

// A clock that is set, here or on the host, changes no waiting: Go measures on the monotonic clock as long as nobody
// asks a time for its date, and the runner script measures with a stopwatch. So nothing in the way to a host may
// do anything with a time but compare it and count from it.
func TestNoWallClock(t *testing.T) {
	for _, dir := range []string{".", "../winrm"} {
		uses := wallClockUses(t, dir)
		for _, use := range uses {
			t.Errorf("%s", use)
		}
	}
}

// The check finds what it looks for.
func TestWallClockIsFound(t *testing.T) {
	const source = `package p
import "time"
type s struct{ at time.Time }
func (x s) bad() bool { return x.at.Unix() > 0 || x.at.Round(0).IsZero() || time.Unix(0, 0).Before(x.at) }
func (x s) good() time.Duration { return time.Since(x.at).Round(time.Second) }
`
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	if uses := wallClock(files, []*ast.File{file}); len(uses) != 3 {
		t.Errorf("%q", uses)
	}
}

func wallClockUses(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%v %v", names, err)
	}
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range names {
		// The tickets of Kerberos end at a time of day by their nature.
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(filepath.Base(name), "kerberos") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	return wallClock(files, parsed)
}

// onlyTime knows the package time and takes every other as empty, so that types of times are known at little cost.
type onlyTime struct{ known types.Importer }

func (o onlyTime) Import(path string) (*types.Package, error) {
	if path == "time" {
		return o.known.Import(path)
	}
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	return p, nil
}

func wallClock(files *token.FileSet, parsed []*ast.File) []string {
	harmless := map[string]bool{"Add": true, "Sub": true, "After": true, "Before": true, "Compare": true, "IsZero": true}
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}, Uses: map[*ast.Ident]types.Object{}}
	cfg := types.Config{Importer: onlyTime{importer.ForCompiler(files, "source", nil)}, Error: func(error) {}}
	_, _ = cfg.Check("p", files, parsed, info) // of the other packages nothing is known, which is as it should be
	var uses []string
	report := func(at token.Pos, what string) { uses = append(uses, files.Position(at).String()+": "+what) }
	for at, s := range info.Selections {
		if s.Recv().String() == "time.Time" && !harmless[s.Obj().Name()] {
			report(at.Pos(), "time.Time."+s.Obj().Name())
		}
	}
	for at, o := range info.Uses {
		f, ok := o.(*types.Func)
		if !ok || o.Pkg() == nil || o.Pkg().Path() != "time" || f.Signature().Recv() != nil {
			continue
		}
		switch o.Name() {
		case "Date", "Parse", "ParseInLocation", "Unix", "UnixMilli", "UnixMicro":
			report(at.Pos(), "time."+o.Name())
		}
	}
	return uses
}
