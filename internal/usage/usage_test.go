package usage

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"
)

var update = flag.Bool("update", false, "write the golden files in testdata anew")

// tides is a command line with every kind of flag and value.
func tides() (*cli.App, Values) {
	count := &cli.IntFlag{Name: "count", Aliases: []string{"n"}, Value: 3, Usage: "how many: 'few' or [many]"}
	app := &cli.App{
		Name: "tides", Usage: "predict tides", Version: "1.0",
		Flags: []cli.Flag{
			count,
			&cli.StringFlag{Name: "color", Value: "auto", Usage: "auto or never"},
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "say nothing"},
			&cli.BoolFlag{Name: "secret", Hidden: true, Usage: "of nobody's interest"},
		},
		Commands: []*cli.Command{
			{
				Name: "show", Usage: "show the tides of ports", ArgsUsage: "PORT...",
				Description: "Shows *tides* in a_file,\nport by port.\n\nA second paragraph that is long enough to be broken into two lines of eighty columns.",
				Flags: []cli.Flag{
					&cli.StringSliceFlag{Name: "moon", Usage: "new, full or {{none}}"},
					&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`"},
					&cli.StringFlag{Name: "charts", Usage: "`DIR` of charts (default: beside the program)"},
					&cli.DurationFlag{Name: "every", Value: time.Hour, Usage: "time between two lines"},
					&cli.Float64Flag{Name: "datum", Usage: "level that counts as 0"},
					&cli.StringFlag{Name: "an-option-with-a-long-name", Usage: "has a line of its own"},
					&cli.IntFlag{Name: "count", Aliases: []string{"n"}, Value: 7, Usage: count.Usage},
				},
			},
			{Name: "again", Usage: "do another command twice", ArgsUsage: "-- COMMAND"},
			{Name: "old", Hidden: true},
		},
	}
	return app, func(command, flag string) Value {
		switch command + " " + flag {
		case "show ":
			return Value{Kind: File, Words: []string{"cuxhaven", "brest"}}
		case "again ":
			return Value{Kind: Nested}
		case "show moon":
			return Value{Kind: List, Words: []string{"new", "full"}}
		case " color":
			return Value{Kind: Word, Words: []string{"auto", "never"}}
		}
		return Value{}
	}
}

func TestRenderings(t *testing.T) {
	app, values := tides()
	p := Of(app, values)
	manual, err := p.Manual("% \"TIDES\" \"1\" \"2026-01-01\" \"{{.Name}} {{.Version}}\" \"User Commands\"\n\n# OPTIONS\n\n{{options .Options}}\n# COMMANDS\n\n{{range .Commands}}\n### {{.Name}}\n\n{{command .}}\n{{end}}")
	if err != nil {
		t.Fatal(err)
	}
	renderings := map[string][]byte{"tides.1": manual, "help.txt": []byte(p.help())}
	for _, c := range p.Commands {
		renderings["help-"+c.Name+".txt"] = []byte(c.help(p.Name))
	}
	for _, shell := range Shells() {
		var b bytes.Buffer
		if err := p.Completion(&b, shell); err != nil {
			t.Fatal(err)
		}
		renderings["completion."+shell] = b.Bytes()
	}
	for name, got := range renderings {
		golden(t, filepath.Join("testdata", name), got)
	}
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}

// The library prints these texts, braces and all.
func TestSetHelp(t *testing.T) {
	for _, args := range [][]string{{"tides", "show", "--help"}, {"tides", "help", "show"}} {
		app, values := tides()
		want := Of(app, values).Commands[0].help("tides")
		var b bytes.Buffer
		app.Writer = &b
		SetHelp(app, values)
		if err := app.Run(args); err != nil || b.String() != want {
			t.Errorf("%q: %v, %s, want %s", args, err, &b, want)
		}
		if !strings.Contains(want, "{{none}}") {
			t.Error("the text has lost its braces")
		}
	}
}

func TestUnknownShell(t *testing.T) {
	app, values := tides()
	if err := Of(app, values).Completion(&bytes.Buffer{}, "csh"); err == nil {
		t.Error("wrote a script for csh")
	}
}

func TestHanging(t *testing.T) {
	long := strings.Repeat("x", 90)
	for text, want := range map[string]string{
		"":                            "head\n",
		"one":                         "head one\n",
		long:                          "head " + long + "\n",
		strings.Repeat("ab ", 25):     "head " + strings.Repeat("ab ", 24) + "ab\n",
		strings.Repeat("ab ", 26):     "head " + strings.Repeat("ab ", 24) + "ab\n     ab\n",
		long + " " + "and some words": "head " + long + "\n     and some words\n",
	} {
		var b strings.Builder
		hanging(&b, "head ", text)
		if b.String() != want {
			t.Errorf("%q: %q, want %q", text, b.String(), want)
		}
	}
}
