package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// completionDir has the scripts of all shells, and files to complete.
func completionDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for shell, name := range map[string]string{"bash": "fibchurn.bash", "zsh": "_fibchurn", "fish": "fibchurn.fish"} {
		code, stdout, stderr := call("completion", shell)
		if code != exitOK || stderr != "" {
			t.Fatalf("%s: exit %d, %s", shell, code, stderr)
		}
		writeFile(t, filepath.Join(dir, name), stdout)
	}
	if err := os.Mkdir(filepath.Join(dir, "zdir"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "zruns of today.jsonl"), "")
	return dir
}

// A shell returns what it completes the last word of a line to, sorted.
type shell func(t *testing.T, dir string, line string) []string

// execShell executes a shell without the user's settings, and without a fibchurn
// that a script could execute.
func execShell(t *testing.T, dir string, argv ...string) []string {
	t.Helper()
	cmd := exec.Command(tool(t, argv[0]), argv[1:]...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "TERM=dumb", "LC_ALL=C.UTF-8", "XDG_CONFIG_HOME=" + dir, "XDG_DATA_HOME=" + dir}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", argv[0], err, out)
	}
	found := strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' || r == '\r' })
	slices.Sort(found)
	return found
}

// inBash gives the function the words that readline would: taken apart at "=", as
// COMP_WORDBREAKS has it.
func inBash(t *testing.T, dir, line string) []string {
	words := strings.Split(strings.ReplaceAll(line, "=", " = "), " ")
	if strings.HasSuffix(line, "=") {
		words = words[:len(words)-1]
	}
	script := `set -u; source ./fibchurn.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"
_fibchurn; ((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"`
	return execShell(t, dir, append([]string{"bash", "--norc", "-c", script, "bash"}, words...)...)
}

func inFish(t *testing.T, dir, line string) []string {
	found := execShell(t, dir, "fish", "--no-config", "-c", `source fibchurn.fish; complete -C $argv[1]`, line)
	for i, f := range found {
		found[i], _, _ = strings.Cut(f, "\t")
	}
	return found
}

// inZsh types the line into an interactive zsh and presses a key.
func inZsh(t *testing.T, dir, line string) []string {
	harness, err := filepath.Abs("testdata/complete.zsh")
	if err != nil {
		t.Fatal(err)
	}
	found := execShell(t, dir, "zsh", "-f", harness, line)
	for i := range found { // file names are as they are typed
		found[i] = strings.ReplaceAll(found[i], `\ `, " ")
	}
	return found
}

// Real shells complete commands, flags, their values and file names, with nothing to
// execute but their own scripts.
func TestCompletion(t *testing.T) {
	t.Parallel()
	dir := completionDir(t)
	for name, complete := range map[string]shell{"bash": inBash, "zsh": inZsh, "fish": inFish} {
		for _, test := range []struct {
			line string
			want string // separated by "|"; with "..." at least these
			not  string
		}{
			{line: "fibchurn del", want: "delete-iface"},
			{line: "fibchurn ", want: "routes|vm|compare|completion|...", not: "dense"},
			{line: "fibchurn --col", want: "--color"},
			{line: "fibchurn --color n", want: "never"},
			{line: "fibchurn --color never rou", want: "routes"},
			{line: "fibchurn --runs vm rou", want: "routes"},
			{line: "fibchurn routes --lay", want: "--layout"},
			{line: "fibchurn routes --", want: "--count|--layout|--runs|--color|...", not: "--subnets"},
			{line: "fibchurn routes --layout ", want: "dense|dfz|linear32|random|sparse"},
			{line: "fibchurn routes --color never --layout d", want: "dense|dfz"},
			{line: "fibchurn -r 3 routes -n 5 --layout sp", want: "sparse"},
			{line: "fibchurn lookup --probe ", want: "bpf|connect|netlink"},
			{line: "fibchurn lookup --order ", want: "chain|random|scan"},
			{line: "fibchurn routes --order ", want: "added|random|reverse"},
			{line: "fibchurn addrs --link-kind d", want: "dummy"},
			{line: "fibchurn netns --as ba", want: "bare"},
			{line: "fibchurn completion ", want: "bash|fish|zsh|...", not: "zdir"},
			{line: "fibchurn help comp", want: "compare|completion"},
			{line: "fibchurn routes -o zr", want: "zruns of today.jsonl"},
			{line: "fibchurn compare z", want: "zdir/|zruns of today.jsonl"},
			{line: "fibchurn suite ni", want: "nightly"},
			{line: "fibchurn suite z", want: "zdir/|zruns of today.jsonl"},
			{line: "fibchurn vm --modules z", want: "zdir/"},
			{line: "fibchurn vm --acc", want: "--accel"},
			{line: "fibchurn vm --boots 2 -- rou", want: "routes"},
			{line: "fibchurn vm --boots 2 -- routes --lay", want: "--layout"},
			{line: "fibchurn vm --kernel a=b -- routes --layout den", want: "dense"},
			{line: "fibchurn routes --layout=den", want: "dense"},
		} {
			got := complete(t, dir, test.line)
			for i := range got { // what is put in place of the word as a whole
				got[i] = strings.TrimPrefix(got[i], "--layout=")
				if got[i] == "zdir" {
					got[i] = "zdir/"
				}
			}
			want := strings.Split(test.want, "|")
			atLeast := want[len(want)-1] == "..."
			if atLeast {
				want = want[:len(want)-1]
				for _, w := range want {
					if !slices.Contains(got, w) {
						t.Errorf("%s: %q completes to %q, without %s", name, test.line, got, w)
					}
				}
			} else if !slices.Equal(got, want) {
				t.Errorf("%s: %q completes to %q, want %q", name, test.line, got, want)
			}
			if test.not != "" && slices.Contains(got, test.not) {
				t.Errorf("%s: %q completes to %s", name, test.line, test.not)
			}
		}
	}
}

// The value behind an option and a comma list, as the shells do them.
func TestCompletionOfLists(t *testing.T) {
	t.Parallel()
	dir := completionDir(t)
	want := map[string]string{"bash": "addrs,routes", "zsh": "routes", "fish": "addrs,routes"}
	for name, complete := range map[string]shell{"bash": inBash, "zsh": inZsh, "fish": inFish} {
		if got := complete(t, dir, "fibchurn delete-iface --as addrs,rou"); len(got) != 1 || got[0] != want[name] {
			t.Errorf("%s: %q, want %s", name, got, want[name])
		}
	}
}

func TestCompletionOfOtherShells(t *testing.T) {
	for args, want := range map[string]string{
		"completion":           "no shell given",
		"completion tcsh":      "completion tcsh: must be one of bash, zsh, fish",
		"completion bash more": `unexpected argument "more"`,
		"man page":             `unexpected argument "page"`,
	} {
		if code, stdout, stderr := call(strings.Fields(args)...); code != exitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d, %s", args, code, stderr)
		}
	}
}
