package vm

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// A module is one that the guest loads.
type module struct {
	name    string
	params  string
	content []byte
}

// A driver is one that a command may ask for.
type driver struct{ name, params string }

// drivers lists what is loaded where the kernel has it as a module, all of it best
// effort: which of them a command needs is its own matter, and it says so.
func drivers() []driver {
	return []driver{
		{"configs", ""}, // /proc/config.gz: which debug options are in force
		{"ipv6", ""},
		{"dummy", "numdummies=0"},
		{"ifb", "numifbs=0"},
		{"veth", ""},
		{"vrf", ""},
		{"tun", ""},
		{"bridge", ""},
	}
}

// A modulePlan is what the guest loads, in order, and what there was none of.
type modulePlan struct {
	load    []module
	missing []string
	tried   []string // where modules were looked for, if nowhere was one
}

// planModules collects a kernel's drivers. dir is as in findModules; where it is
// given, a directory without modules of this kernel is an error.
func planModules(k Kernel, dir string) (*modulePlan, error) {
	tree, tried, err := findModules(k, dir)
	if err != nil {
		return nil, err
	}
	p := &modulePlan{}
	if tree == nil {
		if dir != "" {
			return nil, fmt.Errorf("modules: %s has none for kernel %s: neither it nor a directory lib/modules/%s in it holds a modules.builtin, modules.order or modules.dep", dir, k.Release, k.Release)
		}
		p.tried = tried
		for _, d := range drivers() {
			p.missing = append(p.missing, d.name)
		}
		return p, nil
	}
	c := &collector{tree: tree, release: k.Release, state: map[string]bool{}}
	for _, d := range drivers() {
		switch err := c.collect(d.name, d.params, 0); {
		case errors.Is(err, fs.ErrNotExist):
			p.missing = append(p.missing, d.name)
		case err != nil:
			return nil, fmt.Errorf("modules in %s: %w", tree.dir, err)
		}
	}
	p.load = c.load
	return p, nil
}

// A collector visits modules depth first, so that each comes after what it needs.
type collector struct {
	tree    *moduleTree
	release string
	state   map[string]bool // false: under way, true: done
	load    []module
}

func (c *collector) collect(name, params string, depth int) error {
	done, seen := c.state[name]
	if done || c.tree.builtin[name] {
		return nil
	}
	if seen || depth > 32 {
		return fmt.Errorf("module %s depends on itself", name)
	}
	path, found := c.tree.locate(name)
	if !found {
		return fmt.Errorf("module %s: %w", name, fs.ErrNotExist)
	}
	content, err := readModule(path)
	if err != nil {
		return err
	}
	needs, err := c.needs(name, content)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	c.state[name] = false
	defer func() {
		if !c.state[name] {
			delete(c.state, name)
		}
	}()
	for _, need := range needs {
		if err := c.collect(need, "", depth+1); err != nil {
			return err
		}
	}
	c.state[name] = true
	c.load = append(c.load, module{name, params, content})
	return nil
}

// needs is what modules.dep says, or the module itself where there is none.
func (c *collector) needs(name string, content []byte) ([]string, error) {
	info, err := moduleInfo(content)
	if err != nil {
		return nil, err
	}
	built, _, _ := strings.Cut(info["vermagic"], " ")
	if c.release != "" && built != "" && built != c.release {
		return nil, fmt.Errorf("a module of kernel %s, and the image is %s", built, c.release)
	}
	if needs, listed := c.tree.depends[name]; listed {
		return needs, nil
	}
	var needs []string
	for need := range strings.SplitSeq(info["depends"], ",") {
		if need != "" {
			needs = append(needs, strings.ReplaceAll(need, "-", "_"))
		}
	}
	return needs, nil
}
