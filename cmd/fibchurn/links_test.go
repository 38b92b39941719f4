package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// linksHold checks that what the documents of a tree link to is in it: files, and the
// headings of files, as GitHub makes anchors of them.
func linksHold(t *testing.T, root string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents in %s: %v", root, err)
	}
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	links := 0
	for _, from := range append(files, filepath.Join(root, "README.md")) {
		for _, m := range link.FindAllStringSubmatch(textOf(t, from), -1) {
			if strings.Contains(m[1], "://") || m[1] == "LICENSE" { // which packages have where their distribution does
				continue
			}
			links++
			path, anchor, _ := strings.Cut(m[1], "#")
			to := filepath.Join(filepath.Dir(from), path)
			if path == "" {
				to = from
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s: %v", from, m[1], err)
			} else if anchor != "" && !hasHeading(textOf(t, to), anchor) {
				t.Errorf("%s links to %s, which has no such heading", from, m[1])
			}
		}
	}
	if links == 0 {
		t.Errorf("no links in the documents of %s", root)
	}
}

func textOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func hasHeading(text, anchor string) bool {
	dropped := regexp.MustCompile("[^a-z0-9 _-]")
	for line := range strings.Lines(text) {
		if heading := strings.TrimLeft(line, "#"); heading != line {
			id := dropped.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
			if strings.ReplaceAll(id, " ", "-") == anchor {
				return true
			}
		}
	}
	return false
}

func TestLinks(t *testing.T) {
	linksHold(t, "../..")
	const text = "# What it *is*, and `why`\n"
	if !hasHeading(text, "what-it-is-and-why") || hasHeading(text, "what") {
		t.Error("anchors are found wrongly")
	}
}
