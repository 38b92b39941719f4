package machine

import (
	"runtime/debug"
	"testing"
)

func TestVersionOf(t *testing.T) {
	const revision = "f45d0cb91d2a7c3e5b6a0d9e8f7c6b5a4d3e2f10"
	tests := []struct {
		name, module, revision, modified, want string
	}{
		{"nothing", "", "", "", "devel"},
		{"without version control", "(devel)", "", "", "devel"},
		{"revision", "(devel)", revision, "false", "f45d0cb91d2a"},
		{"changed", "(devel)", revision, "true", "f45d0cb91d2a-dirty"},
		{"pseudo-version", "v0.0.0-20260801120000-f45d0cb91d2a", revision, "false", "f45d0cb91d2a"},
		{"changed pseudo-version", "v0.0.0-20260801120000-f45d0cb91d2a+dirty", revision, "true", "f45d0cb91d2a-dirty"},
		{"release", "v1.2.0", revision, "false", "v1.2.0"},
		{"changed release", "v1.2.0+dirty", revision, "true", "v1.2.0-dirty"},
		{"installed by the go command", "v1.2.0", "", "", "v1.2.0"},
		{"short revision", "", "abc", "", "abc"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			info := &debug.BuildInfo{Main: debug.Module{Version: test.module}}
			if test.revision != "" {
				info.Settings = append(info.Settings, debug.BuildSetting{Key: "vcs.revision", Value: test.revision})
			}
			if test.modified != "" {
				info.Settings = append(info.Settings, debug.BuildSetting{Key: "vcs.modified", Value: test.modified})
			}
			if got := versionOf(info); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if Version() == "" {
		t.Error("this program has no version")
	}
}
