package main

import (
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runsFile is a file of runs that no kernel made.
const runsFile = "../../results/testdata/full.jsonl"

func TestReportPage(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.HTML")
	if code, stdout, stderr := call("report", runsFile, "-o", page); code != 0 || stdout != "" || stderr != "" {
		t.Fatalf("exit %d, %q, %q", code, stdout, stderr)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.HasPrefix(string(text), "<!DOCTYPE html>") {
		t.Fatalf("%v, %.100s", err, text)
	}
	code, stdout, stderr := call("report", "--format", "html", runsFile)
	if code != 0 || stdout != string(text) || stderr != "" {
		t.Errorf("on standard output: exit %d, %d bytes, %q", code, len(stdout), stderr)
	}
	// A format that was asked for counts more than the name.
	if code, _, _ := call("report", "--json", runsFile, "-o", page); code != 0 {
		t.Error(code)
	}
	if text, err = os.ReadFile(page); err != nil || !strings.HasPrefix(string(text), `{"schema":`) {
		t.Errorf("%v, %.100s", err, text)
	}
}

// By file the sides are the files, whatever is in them.
func TestReportPageByFile(t *testing.T) {
	text, err := os.ReadFile(runsFile)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other.jsonl")
	writeFile(t, other, strings.ReplaceAll(string(text), `"boot":"`, `"boot":"other-`))
	code, stdout, stderr := call("report", "--format", "html", "--by", "file", runsFile, other)
	if code != 0 || stderr != "" || !strings.Contains(stdout, "base: full.jsonl") || !strings.Contains(stdout, "new: other.jsonl") {
		t.Errorf("exit %d, %q, %.300s", code, stderr, stdout)
	}
}

func TestReportPlots(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "plots")
	if code, stdout, stderr := call("report", runsFile, "--plots", dir); code != 0 || !strings.Contains(stdout, "delete-iface on Linux") {
		t.Fatalf("exit %d, %s, %s", code, stdout, stderr)
	}
	pictures, err := filepath.Glob(filepath.Join(dir, "*.png"))
	if err != nil || len(pictures) < 4 {
		t.Fatal(pictures, err)
	}
	for _, picture := range pictures {
		f, err := os.Open(picture)
		if err != nil {
			t.Fatal(err)
		}
		_, err = png.DecodeConfig(f)
		f.Close()
		svg, svgErr := os.ReadFile(strings.TrimSuffix(picture, "png") + "svg")
		if err != nil || svgErr != nil || !strings.Contains(string(svg), "</svg>") {
			t.Error(picture, err, svgErr)
		}
	}
	all, err := os.ReadDir(dir)
	if err != nil || len(all) != 2*len(pictures) {
		t.Errorf("%d files, %d pictures, %v", len(all), len(pictures), err)
	}
}

func TestReportPageErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	writeFile(t, file, "kept")
	for _, test := range []struct{ args, want string }{
		{"--format html --json " + runsFile, "--json and --format html"},
		{"--format htm " + runsFile, "--format htm: must be one of"},
		{"--format html --by colour " + runsFile, `no such key "colour"`},
		{"--plots " + filepath.Join(filepath.Dir(file), "plots") + " --by colour " + runsFile, `no such key "colour"`},
		{"--format html --by file -", "--by file: standard input"},
		{"--by cell " + runsFile, "--by: only --format html and --plots"},
		{"--plots " + file + " " + runsFile, "--plots"},
		{"--plots= " + runsFile, "--plots: the value is empty"},
		{"-o /no/such/page.html " + runsFile, "--output"},
		{"-o " + filepath.Dir(file) + " --format html " + runsFile, "is a directory"},
	} {
		code, stdout, stderr := call(append([]string{"report"}, strings.Fields(test.args)...)...)
		if code == 0 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: exit %d, %q, %q", test.args, code, stdout, stderr)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "kept" {
		t.Errorf("%q, %v", text, err)
	}
}
