package pwsh

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/catalog"
)

//go:embed assets
var assets embed.FS

// stubs are the generated cmdlets on disk: one library, one script per module of functions, and, for
// each set of cmdlets that a machine has, a folder of module manifests that export just those.
type stubs struct {
	dir     string
	catalog *catalog.Catalog
	mu      sync.Mutex
	known   map[string]string // folders of manifests by the cmdlets in them
}

// prepare finds or builds the stubs for a PowerShell. Two processes may do so at once: each builds in a
// folder of its own, and the first rename wins.
func prepare(ctx context.Context, c *catalog.Catalog, options Options) (*stubs, error) {
	files, err := sources(c)
	if err != nil {
		return nil, err
	}
	cache := options.CacheDir
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("no cache folder for the powershell engine: %w", err)
		}
		cache = filepath.Join(user, "hypervsim")
	}
	key, err := keyOf(files, options.PowerShell)
	if err != nil {
		return nil, err
	}
	s := &stubs{dir: filepath.Join(cache, key), catalog: c, known: map[string]string{}}
	if _, err := os.Stat(filepath.Join(s.dir, "HyperVSim.dll")); err == nil {
		return s, nil
	}
	return s, install(s.dir, func(dir string) error {
		if err := writeAll(dir, files); err != nil {
			return err
		}
		return compile(ctx, options.PowerShell, dir)
	})
}

// sources are the files that the library is compiled from, and the scripts beside it.
func sources(c *catalog.Catalog) (map[string][]byte, error) {
	files := map[string][]byte{"Types.cs": []byte(typeLibrary(c))}
	for module, text := range compiledModules(c) {
		files["modules/"+module+".cs"] = []byte(text)
	}
	for module, text := range functionModules(c) {
		files[module+".psm1"] = []byte(text)
	}
	entries, err := fs.ReadDir(assets, "assets")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		text, err := assets.ReadFile("assets/" + entry.Name())
		if err != nil {
			return nil, err
		}
		files[entry.Name()] = text
	}
	return files, nil
}

// keyOf names the cache entry: by content and by engine, so that neither an older library nor one for
// another PowerShell is ever loaded.
func keyOf(files map[string][]byte, powershell string) (string, error) {
	hash := sha256.New()
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintf(hash, "%s %d\n", name, len(files[name]))
		hash.Write(files[name])
	}
	path, err := exec.LookPath(powershell)
	if err != nil {
		return "", fmt.Errorf("the powershell engine: %w", err)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(hash, "%s %d %d", path, info.Size(), info.ModTime().UnixNano())
	return hex.EncodeToString(hash.Sum(nil))[:32], nil
}

// install fills a folder next to its final place and moves it there.
func install(dir string, fill func(string) error) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(filepath.Dir(dir), ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	if err := fill(temporary); err != nil {
		return err
	}
	if err := os.Rename(temporary, dir); err != nil {
		if _, there := os.Stat(dir); there != nil {
			return err
		}
	}
	return nil
}

func writeAll(dir string, files map[string][]byte) error {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func compile(ctx context.Context, powershell, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, powershell, "-NoLogo", "-NoProfile", "-NonInteractive", "-File", filepath.Join(dir, "build.ps1"))
	cmd.Env = append(environment(nil), "POWERSHELL_TELEMETRY_OPTOUT=1", "POWERSHELL_UPDATECHECK=Off", "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("compiling the stub cmdlets: %w\n%s", err, out)
	}
	return nil
}

// modules gives the folder of manifests for a machine that has these cmdlets.
func (s *stubs) modules(list []*catalog.Cmdlet) (string, error) {
	names := make([]string, 0, len(list))
	for _, x := range list {
		names = append(names, x.Name)
	}
	all := strings.Join(names, ",")
	s.mu.Lock()
	defer s.mu.Unlock()
	if dir, ok := s.known[all]; ok {
		return dir, nil
	}
	sum := sha256.Sum256([]byte(all))
	dir := filepath.Join(s.dir, "machines", hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(dir); err != nil {
		err := install(dir, func(into string) error { return writeAll(into, manifests(s.catalog, s.dir, list)) })
		if err != nil {
			return "", err
		}
	}
	s.known[all] = dir
	return dir, nil
}
