package vm

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A moduleTree is the directory of one kernel's modules: as make modules_install
// leaves it, as a package has it (without modules.dep, which the package's scripts
// make), or the build tree.
type moduleTree struct {
	dir     string
	builtin map[string]bool     // names that need no module
	files   map[string]string   // name -> path under dir, without a compression's suffix
	depends map[string][]string // name -> names, from modules.dep; nil: ask the module
}

// moduleName is the name of a module's file: without directory and suffixes, and
// with underscores, as the kernel has it.
func moduleName(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// findModules looks for the modules of a kernel: in dir where it is not empty, else
// in the usual places. Without any the tree is nil, and tried has the places.
func findModules(k Kernel, dir string) (tree *moduleTree, tried []string, err error) {
	tried = modulePlaces(k, dir)
	for _, place := range tried {
		if !isModuleTree(place) || dir == "" && !treeIsOf(place, k.Release) {
			continue
		}
		tree, err := openModules(place)
		return tree, tried, err
	}
	return nil, tried, nil
}

// modulePlaces lists where to look, best first: what lies beside the image was
// more likely built with it than what the system has under the same release.
func modulePlaces(k Kernel, dir string) []string {
	at := func(roots ...string) (places []string) {
		for _, root := range roots {
			for _, sub := range []string{"lib/modules", "usr/lib/modules", "lib/uml/modules", "usr/lib/uml/modules"} {
				places = append(places, filepath.Join(root, sub, k.Release))
			}
		}
		return places
	}
	if dir != "" {
		if k.Release == "" {
			return []string{dir}
		}
		return append([]string{dir, filepath.Join(dir, k.Release)}, at(dir)...)
	}
	beside := filepath.Dir(k.Path)
	if resolved, err := filepath.EvalSymlinks(k.Path); err == nil {
		beside = filepath.Dir(resolved)
	}
	build := []string{beside}
	if strings.HasSuffix(filepath.ToSlash(beside), "arch/x86/boot") {
		build = append(build, filepath.Join(beside, "../../.."))
	}
	if k.Release == "" {
		return nil
	}
	places := append(build, filepath.Join(beside, k.Release), filepath.Join(beside, "modules", k.Release))
	return append(places, at(beside, filepath.Join(beside, ".."), filepath.Join(beside, "../.."), "/")...)
}

// isModuleTree goes by the files that every tree has one of.
func isModuleTree(dir string) bool {
	for _, name := range []string{"modules.builtin", "modules.order", "modules.dep"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// treeIsOf keeps a build tree from being taken for another kernel's; everywhere
// else the release is the directory's name.
func treeIsOf(dir, release string) bool {
	built, err := os.ReadFile(filepath.Join(dir, "include/config/kernel.release"))
	if err != nil {
		return filepath.Base(dir) == release
	}
	return strings.TrimSpace(string(built)) == release
}

func openModules(dir string) (*moduleTree, error) {
	t := &moduleTree{dir: dir, builtin: map[string]bool{}, files: map[string]string{}}
	err := t.lines("modules.builtin", func(line string) error {
		t.builtin[moduleName(line)] = true
		return nil
	})
	if err == nil {
		err = t.lines("modules.order", func(line string) error {
			if object, cut := strings.CutSuffix(line, ".o"); cut { // build trees since 6.2
				line = object + ".ko"
			}
			t.files[moduleName(line)] = uncompressedName(line)
			return nil
		})
	}
	if err == nil {
		err = t.lines("modules.dep", t.dependency)
	}
	if err != nil {
		return nil, fmt.Errorf("modules in %s: %w", dir, err)
	}
	return t, nil
}

// lines calls f with every line that is not blank; a file that is not there has
// none.
func (t *moduleTree) lines(name string, f func(string) error) error {
	file, err := os.Open(filepath.Join(t.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewScanner(io.LimitReader(file, 64<<20))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if line := strings.TrimSpace(in.Text()); line != "" {
			if err := f(line); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return in.Err()
}

// dependency takes a line of modules.dep: "a/b.ko.xz: c/d.ko.xz e/f.ko.xz"
// (modules.dep(5)). The direct dependencies and theirs are all there.
func (t *moduleTree) dependency(line string) error {
	file, needs, found := strings.Cut(line, ":")
	if !found {
		return fmt.Errorf("%q has no colon", line)
	}
	if t.depends == nil {
		t.depends = map[string][]string{}
	}
	name := moduleName(file)
	t.files[name] = uncompressedName(file)
	t.depends[name] = []string{}
	for need := range strings.FieldsSeq(needs) {
		t.depends[name] = append(t.depends[name], moduleName(need))
		t.files[moduleName(need)] = uncompressedName(need)
	}
	return nil
}
