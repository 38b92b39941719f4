package results

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func folded(t *testing.T, runs []Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteFolded(&b, runs); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func flames(t *testing.T, runs []Run) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteFlameGraph(&b, runs); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// hostileProfile has names of a record that someone else wrote.
func hostileProfile() []Run {
	runs := profiledCase{runs: 2, weights: map[string]int64{
		`</title></g><script>alert("1")</script>`: 300,
		"a&b;<b>;\x1b[31m\x00]]>;\xff":            200,
		";;":                                      100,
		strings.Repeat("deep;", 5000) + "leaf":    90,
		strings.Repeat("wide", 3000):              80,
		"main.main_[u];" + strings.Repeat("\u202e\u2028ünïcödé", 3) + "_[u]": 70,
	}}.make()
	for i := range runs {
		runs[i].Cell = "\x1b[2J;<cell>\n&"
	}
	return runs
}

func TestWriteFolded(t *testing.T) {
	usual := profiledCase{runs: 3, weights: deleteWeights()}
	golden(t, filepath.Join("testdata", "profile.folded"), []byte(folded(t, usual.make())))
	hostile := folded(t, hostileProfile())
	want := int64(0)
	for _, r := range hostileProfile() {
		if r.Profile != nil {
			for _, p := range r.Profile.Phases {
				want += p.Samples
			}
		}
	}
	var got int64
	for line := range strings.Lines(hostile) {
		stack, n, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if at := strings.LastIndexByte(line, ' '); at >= 0 {
			stack, n = line[:at], strings.TrimSpace(line[at+1:])
		}
		samples, err := strconv.ParseInt(n, 10, 64)
		if !ok || err != nil || !strings.HasPrefix(stack, "?[2J:<cell> &;") || strings.ContainsAny(stack, "\x1b\x00\n") || strings.Contains(stack, ";;") {
			t.Errorf("line %.200q", line)
		}
		got += samples
	}
	if got != want {
		t.Errorf("%d samples in the folded stacks of %d", got, want)
	}
	// What is no profile of a whole run is in none of them.
	runs := usual.make()
	for i := range runs {
		runs[i].Verified = runs[i].Profile == nil
	}
	if got := folded(t, runs); got != "" || HasProfile(runs) {
		t.Errorf("profiles of runs that failed: %q", got)
	}
	// Two kernels are told apart.
	two := append(usual.make(), usual.make()...)
	for i := range two[:len(two)/2] {
		two[i].Environment.Kernel = "6.1.0"
	}
	if got := folded(t, two); !strings.HasPrefix(got, "1: routes 6.1.0;10000;add;") || !strings.Contains(got, "\n2: routes 6.0.0-synthetic;10000;add;") {
		t.Errorf("two kernels: %.300s", got)
	}
}

// However a thread came to be, what it does in the kernel is in one place.
func TestOwnInnermost(t *testing.T) {
	for frames, want := range map[string]string{
		"runtime.goexit_[u];fibchurn/ns.New.gowrap1_[u];fibchurn/internal/rtnl.(*Conn).call_[u];syscall.Syscall6_[u];netlink_sendmsg;resize":                 "fibchurn/internal/rtnl.(*Conn).call_[u];syscall.Syscall6_[u];netlink_sendmsg;resize",
		"runtime.goexit_[u];fibchurn/ns.(*Namespace).thread.gowrap1_[u];fibchurn/internal/rtnl.(*Conn).call_[u];syscall.Syscall6_[u];netlink_sendmsg;resize": "fibchurn/internal/rtnl.(*Conn).call_[u];syscall.Syscall6_[u];netlink_sendmsg;resize",
		"[fibchurn];runtime.goexit_[u];fibchurn/lookup.(*clock).now_[u];time.Since_[u]":                                                                      "[fibchurn];fibchurn/lookup.(*clock).now_[u];time.Since_[u]",
		"[kworker];ret_from_fork;kthread;worker_thread":                                                                                                      "[kworker];ret_from_fork;kthread;worker_thread",
		"[other];[unknown]_[u]":                                 "[other];[unknown]_[u]",
		"runtime.mstart_[u];runtime.systemstack_[u];futex_wait": "runtime.mstart_[u];runtime.systemstack_[u];futex_wait",
	} {
		if got := strings.Join(ownInnermost(strings.Split(frames, ";")), ";"); got != want {
			t.Errorf("%s\nbecomes %s", frames, got)
		}
	}
}

func TestWriteFlameGraph(t *testing.T) {
	runs := profiledCase{runs: 3, weights: deleteWeights()}.make()
	golden(t, filepath.Join("testdata", "profile.svg"), flames(t, runs))
	for name, image := range map[string][]byte{"usual": flames(t, runs), "hostile": flames(t, hostileProfile()), "none": flames(t, nil)} {
		dec := xml.NewDecoder(bytes.NewReader(image))
		dec.Strict = true
		elements := map[string]int{}
		for {
			token, err := dec.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s is not well-formed: %v", name, err)
			}
			start, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			elements[start.Name.Local]++
			for _, a := range start.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" {
					t.Errorf("%s: <%s %s>", name, start.Name.Local, a.Name.Local)
				}
			}
		}
		for element := range elements {
			if !strings.Contains(" svg style rect g title text ", " "+element+" ") {
				t.Errorf("%s: %d elements <%s>", name, elements[element], element)
			}
		}
		if name != "none" && elements["title"] == 0 {
			t.Errorf("%s has no tooltips", name)
		}
		if len(image) > 1<<20 {
			t.Errorf("%s: %d bytes", name, len(image))
		}
	}
}

// The kernel's functions are of other hues than the program's, and a name has one
// colour everywhere.
func TestFlameColour(t *testing.T) {
	hue := func(name string) int {
		text, _, _ := strings.Cut(strings.TrimPrefix(flameColour(&flame{name: name}), "hsl("), ",")
		h, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	for _, name := range []string{"resize", "update_suffix", "fib_table_lookup", "all2", "entry_SYSCALL_64", ""} {
		if h := hue(name); h < 0 || h > 60 || h != hue(name) {
			t.Errorf("%s has the hue %d", name, h)
		}
		if h := hue(name + userSuffix); h < 180 || h > 240 {
			t.Errorf("%s has the hue %d", name+userSuffix, h)
		}
	}
}

// Records whose counts cannot be are refused.
func TestReadRefusesWrongCounts(t *testing.T) {
	for name, change := range map[string]func(*Run){
		"stacks of more samples": func(r *Run) { r.Profile.Phases[1].Samples-- },
		"a stack below zero":     func(r *Run) { r.Profile.Phases[1].Stacks[0].Samples = -1 },
		"lost below zero":        func(r *Run) { r.Profile.Lost = -1 },
		"calls below zero": func(r *Run) {
			r.Trace = &Trace{Phases: []PhaseTrace{{Phase: "delete", Functions: []FunctionTrace{{Calls: -1}}}}}
		},
	} {
		runs := profiledCase{runs: 1, weights: deleteWeights()}.make()[1:]
		if _, _, err := Read(bytes.NewReader(encodeAll(t, runs)), "x"); err != nil {
			t.Fatal(err)
		}
		change(&runs[0])
		if _, _, err := Read(bytes.NewReader(encodeAll(t, runs)), "x"); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}
