package machine

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

const (
	statText = "cpu  2027 1 1452 96958 301 3 19 10 5 0\ncpu0 961 0 651 48701 24 0 3 3 0 0\ncpu1 1065 0 800 48256 277 0 16 7 0 0\n" +
		"intr 143364 0 0\nctxt 272218\ncpu9 is not one\n"
	loadText = "0.02 0.03 0.00 3/87 4801\n"
)

func TestParseStat(t *testing.T) {
	got, err := parseStat([]byte(statText))
	if err != nil {
		t.Fatal(err)
	}
	if want := (cpuStat{busy: 2027 + 1 + 1452 + 3 + 19, steal: 10, cpus: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for name, text := range map[string]string{
		"empty": "", "another file": "MemTotal: 1 kB\n", "a single CPU": "cpu0 1 2 3 4 5 6 7 8\n",
		"too few": "cpu  1 2 3 4 5 6 7\n", "no number": "cpu  1 2 3 x 5 6 7 8\n", "negative": "cpu  1 2 3 -4 5 6 7 8\n",
	} {
		if _, err := parseStat([]byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestParseLoadavg(t *testing.T) {
	if got, err := parseLoadavg([]byte(loadText)); err != nil || got != 3 {
		t.Errorf("got %d, %v", got, err)
	}
	for _, text := range []string{"", "0.1 0.1 0.1", "0.1 0.1 0.1 387 4801", "0.1 0.1 0.1 -3/87 4801", "0.1 0.1 0.1 99999999999/87 1"} {
		if _, err := parseLoadavg([]byte(text)); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestParsePressure(t *testing.T) {
	const full = "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
	for text, want := range map[string]time.Duration{
		"some avg10=94.09 avg60=95.26 avg300=95.77 total=7324922215" + full: 7324922215 * time.Microsecond,
		"some avg10=0.00 avg60=0.00 avg300=0.00 total=0" + full:             0,
		"": 0, "some": 0, "some total=x": 0, "some total=-1": 0, "some total=9223372036854775807": 0, full: 0,
	} {
		if got := parsePressure([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestSince(t *testing.T) {
	start := time.Now()
	before := Load{taken: start, stat: cpuStat{busy: 1000, steal: 100, cpus: 2}, tasks: 1}
	tests := []struct {
		name  string
		wall  time.Duration
		own   time.Duration
		busy  uint64 // jiffies in between
		steal uint64
		tasks int
		wait  time.Duration
		want  []string
	}{
		{name: "quiet", wall: time.Second, own: 500 * time.Millisecond, busy: 50, tasks: 1},
		{name: "a tenth of a core is within it", wall: time.Second, own: 500 * time.Millisecond, busy: 50 + 10 + jiffySlack, tasks: 1},
		{name: "more than a tenth", wall: time.Second, own: 500 * time.Millisecond, busy: 50 + 12 + jiffySlack, tasks: 1, want: []string{"load"}},
		{name: "own work on two CPUs", wall: time.Second, own: 2 * time.Second, busy: 200, tasks: 1},
		{name: "own work that jiffies missed", wall: time.Second, own: time.Second, busy: 10, tasks: 1},
		{name: "steal", wall: time.Second, own: 980 * time.Millisecond, busy: 98, steal: 2, tasks: 1, want: []string{"steal"}},
		{name: "one jiffy of steal is granularity", wall: 200 * time.Millisecond, own: 200 * time.Millisecond, busy: 20, steal: 1, tasks: 1},
		{name: "steal below one per cent", wall: 10 * time.Second, own: 10 * time.Second, busy: 1000, steal: 9, tasks: 1},
		{name: "too short to say", wall: 29 * time.Millisecond, busy: 6, steal: 3, tasks: 1},
		{name: "brief, and half a core", wall: 50 * time.Millisecond, own: 25 * time.Millisecond, busy: 7, steal: 3, tasks: 1},
		{name: "brief, and more than half a core", wall: 50 * time.Millisecond, own: 24 * time.Millisecond, busy: 7, tasks: 1, want: []string{"load"}},
		{name: "just long enough", wall: 100 * time.Millisecond, busy: 18, steal: 2, tasks: 1, want: []string{"steal", "load"}},
		{name: "short, but a queue before and after", wall: time.Millisecond, tasks: 3, want: []string{"load"}},
		{name: "a queue as long as the CPUs", wall: time.Millisecond, tasks: 2},
		{name: "as long, and somebody waited", wall: 20 * time.Millisecond, tasks: 2, wait: 6 * time.Millisecond, want: []string{"load"}},
		{name: "as long, and somebody waited a little", wall: 20 * time.Millisecond, tasks: 2, wait: 5 * time.Millisecond},
		{name: "somebody waited, but not all CPUs are taken", wall: 20 * time.Millisecond, tasks: 1, wait: 20 * time.Millisecond},
		{name: "long enough for jiffies", wall: time.Second, own: 500 * time.Millisecond, busy: 50, tasks: 2, wait: 900 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := before
			before.tasks, before.waited = test.tasks, time.Hour
			after := Load{
				taken: start.Add(test.wall), tasks: test.tasks, waited: time.Hour + test.wait,
				stat: cpuStat{busy: before.stat.busy + test.busy, steal: before.stat.steal + test.steal, cpus: 2},
			}
			got := after.Since(before, test.own)
			if diff := cmp.Diff(test.want, kinds(got)); diff != "" {
				t.Errorf("kinds (-want +got):\n%s%v", diff, got)
			}
			checkSentences(t, got)
		})
	}
}

func TestTaskRunning(t *testing.T) {
	for text, want := range map[string]bool{
		"12 (fibchurn) R 1 1": true, "12 (fibchurn) S 1 1": false, "12 (a) R (b) S 1": false, "12 (a) S (b) R 1": true, "": false, "12": false, "12 (x)": false, "12 (x) ": false,
	} {
		if got := taskRunning([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// The threads of this process are not among the tasks that disturb it.
func TestSnapshotWithoutOwnThreads(t *testing.T) {
	root := fixture(t, files{
		"proc/stat": statText, "proc/loadavg": "0.02 0.03 0.00 5/87 4801\n",
		"proc/self/task/10/stat": "10 (fibchurn) R 1\n", "proc/self/task/11/stat": "11 (fibchurn) S 1\n",
		"proc/self/task/12/stat": "12 (fibchurn) R 1\n",
	})
	if l := snapshot(root); l.err != nil || l.tasks != 3 {
		t.Errorf("%+v", l)
	}
	// With busy threads, more than the one that asks is found, sooner or later.
	stop := make(chan struct{})
	defer close(stop)
	for range 4 {
		go func() {
			buffer := make([]byte, 1<<20)
			for {
				select {
				case <-stop:
					return
				default:
					_, _ = unix.Getrandom(buffer, 0)
				}
			}
		}()
	}
	buffer := make([]byte, 16<<10)
	for deadline := time.Now().Add(10 * time.Second); ownRunning(running, buffer) < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no busy thread was found")
		}
	}
}

func TestSinceWithoutASnapshot(t *testing.T) {
	root := fixture(t, files{"proc/stat": "cpu  1 2\n", "proc/loadavg": loadText})
	for name, loads := range map[string][2]Load{
		"no before": {{}, Snapshot()}, "no after": {Snapshot(), {}}, "failed": {snapshot(root), Snapshot()},
		"no files": {snapshot(fixture(t)), snapshot(fixture(t))},
	} {
		got := loads[1].Since(loads[0], 0)
		if len(got) != 1 || got[0].Kind != "load" || !strings.Contains(got[0].Text, "unknown") {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestSinceBackwards(t *testing.T) {
	early := Load{taken: time.Now(), stat: cpuStat{busy: 100, steal: 50, cpus: 1}}
	late := Load{taken: early.taken.Add(time.Second), stat: cpuStat{busy: 90, steal: 40, cpus: 1}}
	if got := late.Since(early, 0); got != nil {
		t.Errorf("figures that went back: %v", got)
	}
}

func TestSinceBoot(t *testing.T) {
	if got := (Load{stat: cpuStat{busy: 980, steal: 20}}).SinceBoot(); len(got) != 1 || got[0].Kind != "virtual" {
		t.Errorf("2 %% of steal: %v", got)
	}
	if got := (Load{stat: cpuStat{busy: 1000, steal: 9}}).SinceBoot(); got != nil {
		t.Errorf("0.9 %% of steal: %v", got)
	}
}

// /proc/stat has at least the work that this process did itself, so that what is
// left for others is not below nothing by more than ticks and sampling.
func TestSinceOwnWork(t *testing.T) {
	before, cpuBefore := Snapshot(), processTime(t)
	for processTime(t)-cpuBefore < 300*time.Millisecond {
	}
	after, own := Snapshot(), processTime(t)-cpuBefore
	if after.err != nil {
		t.Fatal(after.err)
	}
	wall := after.taken.Sub(before.taken)
	others := otherCores(difference(after.stat, before.stat), wall, own)
	if others < -0.7 { // all of it missing would be -1
		t.Errorf("others used %.2f cores in %v, of which this process used %v", others, wall, own)
	}
	t.Logf("others: %.2f cores; %v", others, after.Since(before, own))
}

func processTime(t *testing.T) time.Duration {
	t.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func BenchmarkSnapshot(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if l := Snapshot(); l.err != nil {
			b.Fatal(l.err)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte(statText))
	f.Add([]byte("cpu  1 2 3 4 5 6 7 8"))
	f.Add([]byte("cpu  18446744073709551615 1 1 1 1 1 1 18446744073709551615\ncpu0\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		stat, err := parseStat(text)
		if err != nil {
			return
		}
		if share := stealShare(stat); share < 0 || share > 1 {
			t.Errorf("steal share %g of %+v", share, stat)
		}
		l := Load{taken: time.Now(), stat: stat}
		checkSentences(t, l.Since(Load{taken: l.taken.Add(-time.Second)}, 0))
		checkSentences(t, l.SinceBoot())
	})
}

func FuzzParseLoadavg(f *testing.F) {
	f.Add([]byte(loadText))
	f.Fuzz(func(t *testing.T, text []byte) {
		if n, err := parseLoadavg(text); err == nil && n < 0 {
			t.Errorf("%d tasks", n)
		}
	})
}
