package results

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A strict reading of KTAP has the verdicts that the runs have.
func TestKTAPRuns(t *testing.T) {
	want := map[string]string{
		"delete": "ok ok ok ok ok ok", "boots": "ok ok", "broken": "ok not-ok ok-SKIP", "hostile": "ok ok",
		"flap": "ok ok", "resize": "ok ok", "lookup": "ok",
	}
	for name, runs := range formatCases(t) {
		results, err := parseKTAP(formatted(t, "ktap", runs, FormatOptions{}))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		names := map[string]bool{}
		for _, r := range results {
			verdict := map[bool]string{true: "ok", false: "not-ok"}[r.ok]
			if r.directive != "" {
				verdict += "-" + r.directive
			}
			got = append(got, verdict)
			if names[r.name] {
				t.Errorf("%s: two tests are called %s", name, r.name)
			}
			names[r.name] = true
		}
		if strings.Join(got, " ") != want[name] {
			t.Errorf("%s: %q, want %q", name, got, want[name])
		}
	}
}

// Measuring that ended early is told of once: by the run that failed, or by a test of
// its own. Where nothing could be measured the plan says so.
func TestKTAPEnded(t *testing.T) {
	whole, broken := threeCells().make()[:3], formatCases(t)["broken"]
	for _, test := range []struct {
		runs []Run
		opts FormatOptions
		want string
	}{
		{whole, FormatOptions{Ended: "interrupted"}, "not ok 4 all runs # ERROR interrupted\n"},
		{broken, FormatOptions{Ended: "a check failed"}, "ok 3 delete-iface empty # SKIP"},
		{nil, FormatOptions{Ended: "netlink: # no\nbuffers"}, "1..1\nnot ok 1 all runs # ERROR netlink: # no buffers\n"},
		{nil, FormatOptions{Ended: "no #1 kind\nworks", Unsupported: true}, "TAP version 13\n1..0 # SKIP no _1 kind works\n"},
	} {
		if got := formatted(t, "ktap", test.runs, test.opts); !strings.Contains(got, test.want) {
			t.Errorf("%s\nlacks %q", got, test.want)
		}
	}
	for runs, want := range map[*[]Run]string{&whole: "TEST_CASE_ID=all-runs RESULT=fail>", &[]Run{}: "TEST_CASE_ID=all-runs RESULT=fail>"} {
		if got := formatted(t, "lava", *runs, FormatOptions{Ended: "interrupted"}); !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %q", got, want)
		}
	}
	if got := formatted(t, "lava", nil, FormatOptions{Ended: "no", Unsupported: true}); got != "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=all-runs RESULT=skip>\n" {
		t.Error(got)
	}
}

// Perl's TAP::Parser, which prove uses, finds nothing wrong and nothing unknown in any
// stream, and counts as we do.
func TestTAPParser(t *testing.T) {
	streams := map[string]string{
		"suite": writeKTAP(t, suiteOutcomes(), func(_ int, w io.Writer) { fmt.Fprintln(w, "ok 7 of a table") }),
		"skip":  formatted(t, "ktap", nil, FormatOptions{Ended: "no such driver", Unsupported: true}),
		"error": formatted(t, "ktap", nil, FormatOptions{Ended: "interrupted"}),
	}
	want := map[string]string{
		"suite": "13 tests 6 passed 4 failed 2 skipped 3 all-skipped 0", "skip": "13 tests 0 passed 0 failed 0 skipped 0 all-skipped 1",
		"error":  "13 tests 1 passed 0 failed 1 skipped 0 all-skipped 0",
		"delete": "13 tests 6 passed 6 failed 0 skipped 0 all-skipped 0", "broken": "13 tests 3 passed 2 failed 1 skipped 1 all-skipped 0",
		"hostile": "13 tests 2 passed 2 failed 0 skipped 0 all-skipped 0",
	}
	for name, runs := range formatCases(t) {
		streams[name] = formatted(t, "ktap", runs, FormatOptions{})
	}
	for name, stream := range streams {
		got, err := tapParser(stream)
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, stream)
		}
		if w, ok := want[name]; ok && got != w {
			t.Errorf("%s: %s, want %s", name, got, w)
		}
	}
	if got, err := tapParser("TAP version 13\n1..2\nok 1 a\n"); err == nil {
		t.Errorf("the parser takes half a stream: %s", got)
	}
	if got, err := tapParser("TAP version 13\n1..1\nanything\nok 1 a\n"); err == nil {
		t.Errorf("the parser takes anything: %s", got)
	}
}

// tapParser reads a stream with Perl's TAP::Parser (Debian: perl, which make tools
// installs).
func tapParser(stream string) (string, error) {
	const script = `
		my $p = TAP::Parser->new({ tap => do { local $/; scalar <STDIN> } });
		while (my $r = $p->next) { die "unknown line: " . $r->raw . "\n" if $r->is_unknown }
		die join("\n", $p->parse_errors) . "\n" if $p->parse_errors;
		die "no plan\n" unless defined $p->plan;
		printf "%d tests %d passed %d failed %d skipped %d all-skipped %d", $p->version, $p->tests_run,
			scalar $p->passed, scalar $p->failed, scalar $p->skipped, $p->skip_all ? 1 : 0;`
	cmd := exec.Command("perl", "-MTAP::Parser", "-e", script)
	var out, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stream), &out, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w: %s", err, &stderr)
	}
	return out.String(), nil
}

// time= is what the timed phases of all runs took.
func TestKTAPTime(t *testing.T) {
	runs := threeCells().make()[:1]
	var wall time.Duration
	for _, p := range runs[0].Phases {
		wall += time.Duration(p.Wall)
	}
	if got, want := formatted(t, "ktap", runs, FormatOptions{}), fmt.Sprintf("# time=%dms\n", wall.Round(time.Millisecond).Milliseconds()); !strings.Contains(got, want) {
		t.Errorf("%s\nlacks %q", got, want)
	}
}
