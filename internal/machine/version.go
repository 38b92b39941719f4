package machine

import (
	"runtime/debug"
	"strings"
)

// shortRevision is how many digits of a revision are shown.
const shortRevision = 12

// Version returns this program's version from what the Go tool recorded in the
// binary: the module's version where it was built from one ("v1.2.0"), else the
// short revision ("f45d0cb91d2a"), with "-dirty" after it where the tree had
// changes; "devel" where there is neither.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	return versionOf(info)
}

func versionOf(info *debug.BuildInfo) string {
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(len(s.Value), shortRevision)]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	module, changed := strings.CutSuffix(info.Main.Version, "+dirty")
	if changed {
		dirty = "-dirty"
	}
	// A pseudo-version ends in the revision, and says nothing more than it.
	pseudo := revision != "" && strings.HasSuffix(module, revision)
	switch {
	case module != "" && module != "(devel)" && !pseudo:
		return module + dirty
	case revision != "":
		return revision + dirty
	}
	return "devel"
}
