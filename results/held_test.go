package results

import (
	"bytes"
	"strings"
	"testing"
)

// A run held where it says so and so do its checks; every rendering has it that way.
func TestFailedChecksInEveryFormat(t *testing.T) {
	held, broken := Check{Name: "links", Want: 1, Got: 1}, Check{Name: "links", Want: 1, Got: 2}
	for name, c := range map[string]struct {
		verified bool
		checks   []Check
		failed   int
	}{
		"verified":                       {true, []Check{held}, 0},
		"verified without a check":       {true, nil, 0},
		"verified with a broken check":   {true, []Check{held, broken}, 1},
		"not verified, all checks held":  {false, []Check{held}, 1},
		"not verified without a check":   {false, nil, 1},
		"not verified, one broken check": {false, []Check{broken}, 1},
		"two broken checks":              {false, []Check{broken, broken}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			f := threeCells()
			f.cells, f.runs = []string{cellAddrs}, 1
			f.change = func(r *Run, _ int) { r.Verified, r.Checks = c.verified, c.checks }
			runs := f.make()
			ok := c.failed == 0
			if runs[0].Held() != ok || runs[0].Sample() != ok || runs[0].FailedChecks() != c.failed || AnyFailed(runs) == ok {
				t.Errorf("held: %v, sample: %v, %d failed, any: %v", runs[0].Held(), runs[0].Sample(), runs[0].FailedChecks(), AnyFailed(runs))
			}
			word := map[bool]string{true: "1", false: "0"}
			figure := string(rune('0' + c.failed))
			for format, want := range map[string][]string{
				FormatKTAP:   {map[bool]string{true: "\nok 1 ", false: "\nnot ok 1 "}[ok]},
				"lava":       {map[bool]string{true: "addrs RESULT=pass", false: "addrs RESULT=fail"}[ok]},
				"prometheus": {`kernel="6.0.0-synthetic"} ` + figure + "\n", `result="failed"} ` + word[!ok] + "\n", `result="sample"} ` + word[ok] + "\n"},
				"lkp":        {"delete-iface.addrs.failed_checks: " + figure + "\n"},
				FormatText:   {map[bool]string{true: "delete", false: "1 failed its checks"}[ok]},
			} {
				out := formatted(t, format, runs, FormatOptions{})
				if format == "prometheus" {
					_, out, _ = strings.Cut(out, "# TYPE fibchurn_failed_checks")
				}
				for _, w := range want {
					if !strings.Contains(strings.ReplaceAll(out, nbsp, " "), w) {
						t.Errorf("%s has no %q:\n%s", format, w, out)
					}
				}
			}
			if bench := formatted(t, "bench", runs, FormatOptions{}); strings.Contains(bench, "BenchmarkDeleteIface") != ok {
				t.Errorf("bench: %s", bench)
			}
			for _, with := range []func(*Run){func(*Run) {}, func(r *Run) { r.Profile = &Profile{} }} {
				r := runs[0]
				with(&r)
				if _, samples, watched := newSide(Group{"g", []Run{r}}); len(samples)+len(watched) == 1 != ok || (len(failedCells([]Run{r})) == 1) == ok {
					t.Errorf("compared: %d samples, %d watched", len(samples), len(watched))
				}
			}
			if !bytes.Contains([]byte(strings.Join(leftOut(newBlock(runs)), " ")), []byte("failed")) != ok {
				t.Errorf("left out: %q", leftOut(newBlock(runs)))
			}
		})
	}
}
