package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"fibchurn/internal/netnstest"
)

// A lavaDefinition is what LAVA reads of a test definition.
type lavaDefinition struct {
	Metadata struct {
		Format, Name, Description string
		OS, Scope                 []string
	}
	Params map[string]string
	Run    struct{ Steps []string }
}

// A lavaJob is what is checked of a job.
type lavaJob struct {
	JobName    string `yaml:"job_name"`
	DeviceType string `yaml:"device_type"`
	Priority   string
	Visibility string
	Context    map[string]any
	Timeouts   map[string]map[string]int
	Actions    []map[string]yaml.Node
}

func decodeYAML(t *testing.T, path string, into any) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// The test definition has what LAVA and the checker of Linaro's test definitions ask
// for, and its steps, executed as LAVA does (a shell that ends at the first failure, the
// parameters as variables), print signals alone.
func TestLAVADefinition(t *testing.T) {
	netnstest.Root(t)
	var d lavaDefinition
	decodeYAML(t, "../../docs/lava/fibchurn.yaml", &d)
	m := d.Metadata
	if m.Format != "Lava-Test Test Definition 1.0" || m.Name == "" || strings.ContainsAny(m.Name, " \t") || m.Description == "" || len(m.OS) == 0 || len(m.Scope) == 0 {
		t.Errorf("metadata: %+v", m)
	}
	if d.Params["SUITE"] == "" || d.Params["RUNS"] == "" || len(d.Run.Steps) == 0 {
		t.Fatalf("%+v", d)
	}
	runs := filepath.Join(t.TempDir(), "runs.jsonl")
	for suite, code := range map[string]int{
		writeSuite(t, "delete-iface --subnets 16 --as empty --runs 2\n"):                  0,
		writeSuite(t, "delete-iface --subnets 16 --as empty --runs 2\nroutes --nonsense"): 1,
	} {
		script := "set -e\ndmesg() { :; }\nSUITE='" + suite + "'\nRUNS='" + runs + "'\n" + strings.Join(d.Run.Steps, "\n")
		cmd := exec.Command("sh", "-c", script)
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(binary(t))+":"+os.Getenv("PATH"))
		out, err := cmd.Output()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("exit %d, want %d: %v\n%s", got, code, err, out)
		}
		signals := strings.Count(string(out), "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=")
		if signals != strings.Count(string(out), "\n") || (signals > 5) != (code == 0) {
			t.Errorf("%d signals:\n%s", signals, out)
		}
	}
	if text, err := os.ReadFile(runs); err != nil || len(readRuns(t, string(text))) != 2 {
		t.Errorf("runs: %v", err)
	}
}

// The job has what LAVA's schema requires, and refers to the definition by its path and
// to parameters that it has.
func TestLAVAJob(t *testing.T) {
	var d lavaDefinition
	decodeYAML(t, "../../docs/lava/fibchurn.yaml", &d)
	var job lavaJob
	decodeYAML(t, "../../docs/lava/job.yaml", &job)
	if job.JobName == "" || job.DeviceType != "qemu" || job.Visibility == "" || !regexp.MustCompile(`^(low|medium|high|\d+)$`).MatchString(job.Priority) {
		t.Errorf("%+v", job)
	}
	if job.Timeouts["job"]["minutes"] == 0 || job.Timeouts["action"]["minutes"] == 0 || job.Timeouts["connection"]["minutes"] == 0 {
		t.Errorf("timeouts: %v", job.Timeouts)
	}
	var kinds []string
	for _, action := range job.Actions {
		for kind, node := range action {
			kinds = append(kinds, kind)
			if kind == "test" {
				checkLAVATest(t, node, d)
			}
		}
	}
	if got := strings.Join(kinds, " "); got != "deploy boot test" {
		t.Errorf("actions: %s", got)
	}
}

func checkLAVATest(t *testing.T, node yaml.Node, d lavaDefinition) {
	t.Helper()
	var test struct {
		Timeout     map[string]int
		Definitions []struct {
			Repository, From, Path, Name string
			Parameters                   map[string]string
		}
	}
	if err := node.Decode(&test); err != nil {
		t.Fatal(err)
	}
	for _, def := range test.Definitions {
		if _, err := os.Stat(filepath.Join("../..", def.Path)); err != nil || def.From != "git" || def.Repository == "" || def.Name == "" {
			t.Errorf("%+v: %v", def, err)
		}
		for name := range def.Parameters {
			if _, ok := d.Params[name]; !ok {
				t.Errorf("the definition has no parameter %s", name)
			}
		}
	}
	if len(test.Definitions) == 0 || test.Timeout["minutes"] == 0 {
		t.Errorf("%+v", test)
	}
}
