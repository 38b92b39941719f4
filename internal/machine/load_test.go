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
	if want := (cpuStat{busy: 2027 + 1 + 1452 + 3 + 19, idle: 96958 + 301, steal: 10, cpus: 2}); got != want {
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

func TestSince(t *testing.T) {
	start := time.Now()
	const second, ms = time.Second, time.Millisecond
	tests := []struct {
		name   string
		wall   time.Duration // of the run
		around time.Duration // of what is judged, unless it is the run
		own    time.Duration
		busy   uint64 // jiffies in between
		idle   uint64
		steal  uint64
		tasks  int
		cpus   int // 2 unless said
		want   []string
		says   string
	}{
		{name: "quiet", wall: second, own: 500 * ms, busy: 50, idle: 150, tasks: 1},
		{name: "a tenth of a core is within it", wall: second, own: 500 * ms, busy: 50 + 10 + jiffySlack, idle: 138, tasks: 1},
		{name: "more than a tenth", wall: second, own: 500 * ms, busy: 50 + 12 + jiffySlack, idle: 136, tasks: 1, want: []string{"load"}, says: "0.1 of a core during the run."},
		{name: "own work on two CPUs", wall: second, own: 2 * second, busy: 200, tasks: 1},
		{name: "own work that jiffies missed", wall: second, own: second, busy: 10, idle: 100, tasks: 1},
		{name: "steal", wall: second, own: 980 * ms, busy: 98, idle: 100, steal: 2, tasks: 1, want: []string{"steal"}, says: "wanted during the run."},
		{name: "one jiffy of steal is granularity", wall: 200 * ms, own: 200 * ms, busy: 20, idle: 20, steal: 1, tasks: 1},
		{name: "steal below one per cent", wall: 10 * second, own: 10 * second, busy: 1000, idle: 1000, steal: 9, tasks: 1},
		{name: "too short to say", wall: 99 * ms, busy: 19, steal: 3, tasks: 1},
		{name: "just long enough", wall: 100 * ms, busy: 18, steal: 2, tasks: 1, want: []string{"steal", "load"}},
		{name: "short, but a queue before and after", wall: ms, tasks: 3, want: []string{"load"}, says: "3 other tasks wanted to run on 2 CPUs before and after the run."},
		{name: "a queue as long as the CPUs", wall: ms, tasks: 2},
		{name: "short, among other work", wall: 3 * ms, around: 102 * ms, own: 8 * ms, busy: 20, tasks: 1, want: []string{"load"}, says: "1.7 of a core in the 102 ms that the run was part of."},
		{name: "short, and steal around it", wall: 3 * ms, around: 102 * ms, own: 8 * ms, busy: 2, idle: 16, steal: 2, tasks: 1, want: []string{"steal"}, says: "in the 102 ms that the run was part of."},
		{name: "short, and a quarter of a core around it", wall: 3 * ms, around: 200 * ms, own: 20 * ms, busy: 7 + jiffySlack, idle: 31, tasks: 1},
		{name: "the same as a run", wall: 200 * ms, own: 20 * ms, busy: 7 + jiffySlack, idle: 31, tasks: 1, want: []string{"load"}},
		{name: "most of the CPUs, though ticks were lost", wall: second, own: 500 * ms, busy: 40, idle: 45, tasks: 2, want: []string{"load"},
			says: "2 other tasks wanted to run on 2 CPUs before and after the run, and 1.0 of a core went elsewhere during the run."},
		{name: "not most", wall: second, own: 500 * ms, busy: 40, idle: 48, tasks: 2},
		{name: "most, but hardly anybody wanted to run", wall: second, own: 500 * ms, busy: 40, idle: 45, tasks: 1},
		{name: "most of a single CPU", wall: second, cpus: 1, own: 100 * ms, busy: 10, idle: 10, tasks: 1},
		{name: "too short for most", wall: 99 * ms, tasks: 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			around, cpus := max(test.around, test.wall), 2
			if test.cpus > 0 {
				cpus = test.cpus
			}
			first := Load{taken: start, stat: cpuStat{busy: 1000, idle: 5000, steal: 100, cpus: 2}, own: time.Minute, tasks: 7}
			before := Load{taken: start.Add(around - test.wall), tasks: test.tasks}
			after := Load{
				taken: start.Add(around), tasks: test.tasks, own: time.Minute + test.own,
				stat: cpuStat{busy: 1000 + test.busy, idle: 5000 + test.idle, steal: 100 + test.steal, cpus: cpus},
			}
			got := after.Since(before, after.Stretch(first))
			if diff := cmp.Diff(test.want, kinds(got)); diff != "" {
				t.Errorf("kinds (-want +got):\n%s%v", diff, got)
			}
			if len(got) > 0 && !strings.HasSuffix(got[0].Text, test.says) {
				t.Errorf("%q, want it to end with %q", got[0].Text, test.says)
			}
			checkSentences(t, got)
		})
	}
}

// Figures of guests of two emulated CPUs on a busy host, in which nothing else ran, or two
// processes that kept the CPUs busy. Ticks were lost in all of them.
func TestSinceRecorded(t *testing.T) {
	const ms = time.Millisecond
	for _, r := range []struct {
		wall, own   time.Duration
		busy, idle  uint64
		tasks       [2]int
		load, ticks bool // ticks would have said it
	}{
		{wall: 857 * ms, own: 895 * ms, busy: 52, idle: 21, tasks: [2]int{3, 0}},
		{wall: 1154 * ms, own: 1000 * ms, busy: 67, idle: 58, tasks: [2]int{0, 1}},
		{wall: 818 * ms, own: 886 * ms, busy: 51, idle: 33, tasks: [2]int{1, 2}},
		{wall: 1003 * ms, own: 1066 * ms, busy: 50, idle: 50, tasks: [2]int{2, 1}},
		{wall: 1008 * ms, own: 616 * ms, busy: 82, tasks: [2]int{2, 4}, load: true, ticks: true},
		{wall: 1251 * ms, own: 867 * ms, busy: 118, tasks: [2]int{6, 2}, load: true, ticks: true},
		{wall: 808 * ms, own: 439 * ms, busy: 30, tasks: [2]int{2, 2}, load: true},
		{wall: 993 * ms, own: 917 * ms, busy: 83, tasks: [2]int{2, 4}, load: true},
		{wall: 1351 * ms, own: 873 * ms, busy: 88, tasks: [2]int{2, 3}, load: true},
		{wall: 1846 * ms, own: 715 * ms, busy: 80, idle: 1, tasks: [2]int{3, 2}, load: true},
	} {
		before := Load{taken: time.Now(), tasks: r.tasks[0]}
		after := Load{taken: before.taken.Add(r.wall), own: r.own, tasks: r.tasks[1], stat: cpuStat{busy: r.busy, idle: r.idle, cpus: 2}}
		stretch := after.Stretch(before)
		got := after.Since(before, stretch)
		if load := len(got) > 0; load != r.load || (stretch.otherCores() > loadLimit) != r.ticks {
			t.Errorf("%+v: %v; by ticks %.2f of a core, at most %.2f", r, got, stretch.otherCores(), stretch.mostCores())
		}
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
		got := loads[1].Since(loads[0], loads[1].Stretch(loads[0]))
		if len(got) != 1 || got[0].Kind != "load" || !strings.Contains(got[0].Text, "unknown") {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestSinceBackwards(t *testing.T) {
	early := Load{taken: time.Now(), stat: cpuStat{busy: 100, idle: 100, steal: 50, cpus: 1}}
	late := Load{taken: early.taken.Add(time.Second), stat: cpuStat{busy: 90, idle: 90, steal: 40, cpus: 1}}
	if got := late.Since(early, late.Stretch(early)); got != nil {
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
	before := Snapshot()
	after := before
	for after.own-before.own < 300*time.Millisecond && after.err == nil {
		after = Snapshot()
	}
	if after.err != nil {
		t.Fatal(after.err)
	}
	stretch := after.Stretch(before)
	if others := stretch.otherCores(); others < -0.7 { // all of it missing would be -1
		t.Errorf("others used %.2f cores in %v, of which this process used %v", others, stretch.wall, stretch.own)
	}
	t.Logf("others: %.2f to %.2f cores; %v", stretch.otherCores(), stretch.mostCores(), after.Since(before, stretch))
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
		before := Load{taken: l.taken.Add(-time.Second)}
		checkSentences(t, l.Since(before, l.Stretch(before)))
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
