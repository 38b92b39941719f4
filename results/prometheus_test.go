package results

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// The rules of "promtool check metrics" are kept: names, units, help and types.
func TestPromlint(t *testing.T) {
	for name, runs := range formatCases(t) {
		problems, err := promlint.New(strings.NewReader(formatted(t, "prometheus", runs, FormatOptions{}))).Lint()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, p := range problems {
			t.Errorf("%s: %s: %s", name, p.Metric, p.Text)
		}
	}
	if problems, err := promlint.New(strings.NewReader("# TYPE a_milliseconds gauge\na_milliseconds 1\n")).Lint(); err != nil || len(problems) == 0 {
		t.Error("the linter finds nothing where there is something")
	}
}

// What node_exporter's textfile collector would read: no time stamps, no series twice,
// every name ours, and figures in base units.
func TestPrometheusIsRead(t *testing.T) {
	for name, runs := range formatCases(t) {
		families := parsePrometheus(t, formatted(t, "prometheus", runs, FormatOptions{}))
		seen := map[string]bool{}
		for family, f := range families {
			if !regexp.MustCompile(`^fibchurn_[a-z0-9_]+$`).MatchString(family) || f.GetType() != dto.MetricType_GAUGE {
				t.Errorf("%s: %s is a %v", name, family, f.GetType())
			}
			for _, m := range f.Metric {
				if m.TimestampMs != nil {
					t.Errorf("%s: %s has a time stamp", name, family)
				}
				series := family + labelText(m)
				if seen[series] {
					t.Errorf("%s: %s is there twice", name, series)
				}
				seen[series] = true
			}
		}
		for _, always := range []string{"fibchurn_set_info", "fibchurn_runs", "fibchurn_failed_checks", "fibchurn_last_run_timestamp_seconds"} {
			if families[always] == nil {
				t.Errorf("%s: no %s", name, always)
			}
		}
	}
}

func TestPrometheusFigures(t *testing.T) {
	runs := formatCases(t)["broken"]
	families := parsePrometheus(t, formatted(t, "prometheus", runs, FormatOptions{}))
	value := func(family string, labels ...string) float64 {
		for _, m := range families[family].GetMetric() {
			text := labelText(m)
			all := true
			for _, l := range labels {
				all = all && strings.Contains(text, l)
			}
			if all {
				return m.GetGauge().GetValue()
			}
		}
		t.Errorf("no %s %v", family, labels)
		return 0
	}
	addrs := blocks(runs)[0].cell(cellAddrs).runs
	want := Of(addrs, deletePhase, WallTime)
	if got := value("fibchurn_phase_wall_seconds", "cell=addrs", "phase=delete"); math.Abs(got*1e9-want.Median) > 1 {
		t.Errorf("%g s, want %g ns", got, want.Median)
	}
	for family, want := range map[string]float64{"fibchurn_failed_checks": 1, "fibchurn_doubtful_runs": 3} {
		if got := value(family, "cell=routes"); got != want {
			t.Errorf("%s: %g, want %g", family, got, want)
		}
	}
	for result, want := range map[string]float64{"sample": 2, "failed": 1, "partial": 0} {
		if got := value("fibchurn_runs", "cell=routes", "result="+result); got != want {
			t.Errorf("%s runs: %g, want %g", result, got, want)
		}
	}
	if got, want := value("fibchurn_last_run_timestamp_seconds", "cell=addrs"), float64(runs[len(runs)-1].Time.Unix()); got != want {
		t.Errorf("last run at %f, want %f", got, want)
	}
	if families["fibchurn_phase_wall_low_seconds"] != nil {
		t.Error("three runs have an interval")
	}
}

func parsePrometheus(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

func labelText(m *dto.Metric) string {
	var b strings.Builder
	for _, l := range m.Label {
		b.WriteString(" " + l.GetName() + "=" + l.GetValue())
	}
	return b.String()
}
