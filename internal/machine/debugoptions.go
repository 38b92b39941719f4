package machine

import (
	"bufio"
	"os"
	"slices"
	"strings"
)

// A debugOption is a kernel option that makes code slower than it is in
// production, and what shows that it is in force.
type debugOption struct {
	name string // CONFIG_ name; what the record shows
	// heavy: it works on every memory access, lock or allocation, so that no
	// figure says anything about a production kernel. The others add checks here
	// and there and are on in distribution kernels (Debian: DEBUG_LIST, UBSAN).
	heavy   bool
	witness string // file that exists only with the option
	symbol  string // symbol that exists only with the option
	// active says whether the option, being compiled in, is switched on; nil: always.
	active func(kernelConfig, parameters) bool
}

// debugOptions returns what is known. DEBUG_LIST, UBSAN and DEBUG_NET have no
// symbol of their own (list hardening shares that of DEBUG_LIST since 6.6, UBSAN
// may trap without a call), so only a configuration can tell of them.
func debugOptions() []debugOption {
	return []debugOption{
		{name: "KASAN", heavy: true, symbol: "kasan_report", active: kasanActive},
		{name: "KMSAN", heavy: true, symbol: "kmsan_report"},
		{name: "KCSAN", heavy: true, symbol: "__tsan_read8", witness: "sys/kernel/debug/kcsan"},
		{name: "UBSAN"},
		{name: "KCOV", heavy: true, symbol: "__sanitizer_cov_trace_pc"},
		{name: "GCOV_KERNEL", heavy: true, symbol: "gcov_enable_events"},
		{name: "LOCKDEP", heavy: true, symbol: "lockdep_init_map_type", witness: "proc/lockdep"},
		{name: "PROVE_LOCKING", heavy: true, witness: "proc/sys/kernel/prove_locking"},
		{name: "PROVE_RCU", heavy: true},
		{name: "LOCK_STAT", heavy: true, symbol: "lock_contended", witness: "proc/lock_stat"},
		{name: "DEBUG_LOCK_ALLOC", heavy: true, symbol: "debug_check_no_locks_freed"},
		{name: "DEBUG_SPINLOCK", heavy: true, symbol: "__raw_spin_lock_init"},
		{name: "DEBUG_MUTEXES", heavy: true, symbol: "debug_mutex_lock_common"},
		{name: "DEBUG_OBJECTS", heavy: true, symbol: "debug_object_activate", active: objectsActive},
		{name: "DEBUG_KMEMLEAK", heavy: true, symbol: "kmemleak_alloc", witness: "sys/kernel/debug/kmemleak", active: kmemleakActive},
		{name: "DEBUG_PAGEALLOC", heavy: true, active: pageallocActive},
		{name: "PAGE_POISONING", heavy: true, active: switchedOn("page_poison")},
		{name: "PAGE_OWNER", heavy: true, active: switchedOn("page_owner")},
		{name: "SLUB_DEBUG_ON", heavy: true, active: slubDebugOnActive},
		{name: "NET_DEV_REFCNT_TRACKER", heavy: true},
		{name: "NET_NS_REFCNT_TRACKER", heavy: true},
		{name: "RCU_STRICT_GRACE_PERIOD", heavy: true},
		{name: "DEBUG_KOBJECT_RELEASE", heavy: true},
		{name: "DEBUG_ATOMIC_SLEEP", symbol: "__might_sleep"},
		{name: "DEBUG_PREEMPT", symbol: "debug_smp_processor_id"},
		{name: "DEBUG_LIST"},
		{name: "DEBUG_NET"},
		{name: "DEBUG_VM"},
	}
}

// slubDebug is the name in the record for slab debugging that was asked for at
// boot (slab_debug=, before 6.9 slub_debug=) and not by configuration.
const slubDebug = "slub_debug"

// heavyDebug reports whether an option by that name makes every figure
// meaningless for production. Unknown names count: somebody recorded them.
func heavyDebug(name string) bool {
	if name == slubDebug {
		return true
	}
	for _, o := range debugOptions() {
		if o.name == name {
			return o.heavy
		}
	}
	return true
}

// debugInForce returns the debug options in force, in the order of debugOptions.
// An empty list says that there are none; nil says that it could not be found out,
// because there is no configuration and nothing else gave any away.
//
// Without a configuration it reads all of /proc/kallsyms, some 10 MB and 100 ms.
func debugInForce(t tree, release, commandLine string) []string {
	params := parseParameters(commandLine)
	config := findConfig(t, release)
	var symbols map[string]bool
	if config == nil {
		symbols = findSymbols(t)
	}
	found := []string{}
	for _, o := range debugOptions() {
		compiled := config.builtin(o.name) || symbols[o.symbol] || o.witness != "" && t.exists(o.witness)
		if compiled && (o.active == nil || o.active(config, params)) {
			found = append(found, o.name)
		}
	}
	if (config == nil || config.builtin("SLUB_DEBUG")) && slabChecks(t, params) && !slices.Contains(found, "SLUB_DEBUG_ON") {
		found = append(found, slubDebug)
	}
	if config == nil && len(found) == 0 {
		return nil
	}
	return found
}

// slabChecks reports whether slab debugging is on: by the command line, or by the
// flags of a cache that every kernel has (mm/slub.c; root only).
func slabChecks(t tree, p parameters) bool {
	if value, given := p.slabDebug(); given {
		return !slabDebugOff(value)
	}
	for _, check := range []string{"sanity_checks", "red_zone", "poison", "store_user"} {
		if t.text("sys/kernel/slab/kmalloc-64/"+check) == "1" {
			return true
		}
	}
	return false
}

// findSymbols scans /proc/kallsyms once for the symbols of the options. The names
// are there for everybody; kptr_restrict hides only the addresses.
func findSymbols(t tree) map[string]bool {
	wanted := map[string]bool{}
	for _, o := range debugOptions() {
		if o.symbol != "" {
			wanted[o.symbol] = false
		}
	}
	f, err := os.Open(t.path("proc/kallsyms"))
	if err != nil {
		return nil
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 1<<16), 1<<16)
	for lines.Scan() {
		name := symbolName(lines.Bytes())
		if _, ok := wanted[string(name)]; ok { // this conversion does not allocate
			wanted[string(name)] = true
		}
	}
	return wanted
}

// symbolName returns the third field of "address type name [module]", or nothing
// for a module's symbol.
func symbolName(line []byte) []byte {
	fields := 0
	for i, c := range line {
		if c != ' ' {
			continue
		}
		if fields++; fields == 2 {
			if slices.Contains(line[i+1:], '\t') {
				return nil
			}
			return line[i+1:]
		}
	}
	return nil
}

// parameters are the kernel's boot parameters, dashes written as underscores; the
// last of a name counts.
type parameters map[string]string

func parseParameters(commandLine string) parameters {
	p := parameters{}
	for word := range strings.FieldsSeq(commandLine) {
		if word == "--" { // the rest is for init
			break
		}
		name, value, _ := strings.Cut(word, "=")
		p[strings.ReplaceAll(name, "-", "_")] = value
	}
	return p
}

// on reads a switch as kstrtobool does; fallback where it was not given or is no
// switch.
func (p parameters) on(name string, fallback bool) bool {
	value := strings.ToLower(p[name])
	switch {
	case value == "":
		return fallback
	case value == "on", strings.ContainsRune("1yt", rune(value[0])):
		return true
	case value == "off", strings.ContainsRune("0nf", rune(value[0])):
		return false
	}
	return fallback
}

func (p parameters) slabDebug() (value string, given bool) {
	for _, name := range []string{"slab_debug", slubDebug} {
		if value, given = p[name]; given {
			return value, true
		}
	}
	return "", false
}

// slabDebugOff: "-" switches all checks off (setup_slub_debug, mm/slub.c).
func slabDebugOff(value string) bool { return value == "-" }

// kasanActive: only the kind that uses memory tags in hardware can be switched off
// at boot (early_kasan_flag, mm/kasan/hw_tags.c).
func kasanActive(c kernelConfig, p parameters) bool {
	return !c.builtin("KASAN_HW_TAGS") || p.on("kasan", true)
}

func switchedOn(param string) func(kernelConfig, parameters) bool {
	return func(_ kernelConfig, p parameters) bool { return p.on(param, false) }
}

func kmemleakActive(c kernelConfig, p parameters) bool {
	return p.on("kmemleak", !c.builtin("DEBUG_KMEMLEAK_DEFAULT_OFF"))
}

func pageallocActive(c kernelConfig, p parameters) bool {
	return p.on("debug_pagealloc", c.builtin("DEBUG_PAGEALLOC_ENABLE_DEFAULT"))
}

// objectsActive: debug_objects and no_debug_objects are words without a value;
// without a configuration the symbol alone does not tell, but the default is on.
func objectsActive(c kernelConfig, p parameters) bool {
	if _, off := p["no_debug_objects"]; off {
		return false
	}
	_, on := p["debug_objects"]
	return on || c["DEBUG_OBJECTS_ENABLE_DEFAULT"] != "0"
}

func slubDebugOnActive(_ kernelConfig, p parameters) bool {
	value, given := p.slabDebug()
	return !given || !slabDebugOff(value)
}
