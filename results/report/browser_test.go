package report

import (
	"context"
	"encoding/json"
	"html"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// chromium runs a headless browser on a page and returns what it printed. In continuous
// integration it must be there (make tools installs it).
func chromium(t *testing.T, page string, flags ...string) (stdout, stderr string) {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("chromium is needed in continuous integration: make tools")
		}
		t.Skip("needs chromium: make tools")
	}
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--hide-scrollbars", "--enable-logging=stderr",
		"--user-data-dir=" + t.TempDir(),
	}, append(flags, "file://"+file)...)...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	// Its helper processes hold the pipes open a little longer than it lives.
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("chromium: %v\n%.2000s", err, errs.String())
	}
	return out.String(), errs.String()
}

// The browser asks for nothing but the page itself, and its console says nothing: no
// error, nothing that the content security policy stopped.
func TestNoRequests(t *testing.T) {
	for name, runs := range pages(t) {
		log := filepath.Join(t.TempDir(), "net.json")
		dom, stderr := chromium(t, write(t, runs, Options{}), "--log-net-log="+log, "--net-log-capture-mode=Everything", "--dump-dom")
		if !strings.Contains(dom, "Synthetic CPU") {
			t.Fatalf("%s: the page was not shown: %.300s", name, dom)
		}
		if strings.Contains(stderr, "CONSOLE") {
			t.Errorf("%s: the console says:\n%s", name, stderr)
		}
		for _, url := range requests(t, log) {
			t.Errorf("%s: asked for %s", name, url)
		}
	}
}

// That the test above sees requests and the console.
func TestRequestsAreSeen(t *testing.T) {
	log := filepath.Join(t.TempDir(), "net.json")
	_, stderr := chromium(t, `<!DOCTYPE html><img src="http://127.0.0.1:9/x.png"><script>console.log("hello")</script>`,
		"--log-net-log="+log, "--net-log-capture-mode=Everything", "--dump-dom")
	if !strings.Contains(stderr, "CONSOLE") {
		t.Errorf("the console is not seen:\n%.2000s", stderr)
	}
	if urls := requests(t, log); len(urls) == 0 {
		t.Error("the request is not seen")
	}
}

// requests are the addresses in a net log that a page could have asked for.
func requests(t *testing.T, log string) []string {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var events struct {
		Events []struct {
			Params struct {
				URL       string `json:"url"`
				Initiator string `json:"initiator"`
			} `json:"params"`
		} `json:"events"`
	}
	if err := json.Unmarshal(text, &events); err != nil {
		t.Fatal(err)
	}
	var urls []string
	for _, e := range events.Events {
		// What the browser asks for by itself has no page that it is asked for by.
		if e.Params.Initiator != "" && e.Params.Initiator != "not an origin" && strings.Contains(e.Params.URL, "://") {
			urls = append(urls, e.Params.URL)
		}
	}
	return urls
}

// measured are the widths of a page in a window.
var measured = regexp.MustCompile(`<title>(\d+) of (\d+), letters (\d+)</title>`)

// On a phone nothing but the tables and flame graphs scrolls sideways, and no letter is
// too small to be read.
func TestPhone(t *testing.T) {
	for name, runs := range pages(t) {
		// A script that measures takes the place of the policy that forbids scripts.
		page := write(t, runs, Options{})
		policy := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`)
		if !policy.MatchString(page) {
			t.Fatal("there is no policy")
		}
		page = policy.ReplaceAllString(page, "")
		page = strings.Replace(page, "</body>", `<script>
			let least = 1000;
			for (const e of document.querySelectorAll("svg text")) least = Math.min(least, e.getBoundingClientRect().height);
			parent.postMessage(document.documentElement.scrollWidth + " of " + window.innerWidth + ", letters " + Math.floor(least), "*");
			</script></body>`, 1)
		for _, width := range []string{"360", "390", "1280"} {
			// No window of the browser is as narrow as a phone; a frame is.
			frame := `<!DOCTYPE html><title>-</title><script>onmessage = e => document.title = e.data</script><iframe width="` + width +
				`" height="800" style="border:0" srcdoc="` + html.EscapeString(page) + `"></iframe>`
			dom, _ := chromium(t, frame, "--virtual-time-budget=10000", "--dump-dom")
			m := measured.FindStringSubmatch(dom)
			if m == nil {
				t.Fatalf("%s: not measured: %.300s", name, dom)
			}
			content, window, letters := number(m[1]), m[2], number(m[3])
			if window != width || content > number(width) {
				t.Errorf("%s: %d wide in a window of %s, which was to be of %s", name, content, window, width)
			}
			if letters < 9 {
				t.Errorf("%s in a window of %s: letters %d high", name, window, letters)
			}
		}
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

// In the dark the paper is dark and the ink light, in the light the other way round, and
// there is something to see.
func TestLightAndDark(t *testing.T) {
	page := write(t, pages(t)["two"], Options{})
	for scheme, paper := range map[string]color.RGBA{"0": {0x14, 0x17, 0x1a, 0xff}, "1": {0xff, 0xff, 0xff, 0xff}} {
		file := filepath.Join(t.TempDir(), "page.png")
		chromium(t, page, "--window-size=1280,3000", "--blink-settings=preferredColorScheme="+scheme, "--screenshot="+file)
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		picture, err := png.Decode(f)
		if err != nil {
			t.Fatal(err)
		}
		if got := color.RGBAModel.Convert(picture.At(2, 2)); got != paper {
			t.Errorf("scheme %s: paper %v, want %v", scheme, got, paper)
		}
		if n := coloured(picture); n < 1000 {
			t.Errorf("scheme %s: %d coloured pixels", scheme, n)
		}
	}
}

// coloured counts the pixels that are far from grey.
func coloured(picture image.Image) int {
	n := 0
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			r, g, b, _ := picture.At(x, y).RGBA()
			if max(r, g, b)-min(r, g, b) > 0x5000 {
				n++
			}
		}
	}
	return n
}

func TestPrint(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.pdf")
	chromium(t, write(t, pages(t)["two"], Options{}), "--no-pdf-header-footer", "--print-to-pdf="+file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if sheets := strings.Count(string(text), "/Type /Page\n"); !strings.HasPrefix(string(text), "%PDF-") || sheets < 2 || sheets > 12 {
		t.Errorf("%d bytes, %d sheets", len(text), sheets)
	}
}
