// Package usage turns the definition of a command line, as urfave/cli has it, into
// what its users look things up in: help texts, a man page and shell completions.
package usage

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// A Program is a command line.
type Program struct {
	Name, Usage, Version string
	Options              []Option // that may stand before the command
	Commands             []Command
}

// A Command is one of its commands.
type Command struct {
	Name, Usage string
	Arguments   string // that follow the options, as the help text names them
	Description string
	Options     []Option
	Argument    Value // of every argument
}

// An Option is a flag.
type Option struct {
	Names    []string // without dashes, the chief one first
	Usage    string   // one phrase
	Argument string   // the name of its value, empty where it takes none
	Default  string   // empty where there is none, or where Usage tells it
	Repeated bool     // it may be given again
	Value    Value
}

// A Kind says what a value is.
type Kind int

// The kinds of values.
const (
	Text      Kind = iota // anything, or nothing at all
	Word                  // one of Words
	List                  // several of Words, with commas between them
	File                  // a file's name, or one of Words
	Directory             // a directory's name
	Nested                // after "--", another command of the program
)

// A Value is what may stand somewhere on a command line.
type Value struct {
	Kind  Kind
	Words []string
}

// Values tells what the value of a flag is, and with flag "" what a command's
// arguments are. Files and directories need not be told where the flag's usage
// calls its value FILE, PATH or DIR.
type Values func(command, flag string) Value

// Of reads a definition. Hidden commands and flags are left out.
func Of(app *cli.App, values Values) Program {
	p := Program{Name: app.Name, Usage: app.Usage, Version: app.Version, Options: optionsOf("", app.Flags, values)}
	p.Options = append(p.Options, helpOption(),
		Option{Names: []string{"version", "v"}, Usage: "print the version"})
	var names []string
	for _, c := range app.Commands {
		if c.Hidden || c.Name == "help" {
			continue
		}
		names = append(names, c.Name)
		p.Commands = append(p.Commands, Command{
			Name: c.Name, Usage: c.Usage, Arguments: c.ArgsUsage, Description: c.Description,
			Options:  append(optionsOf(c.Name, c.Flags, values), helpOption()),
			Argument: values(c.Name, ""),
		})
	}
	p.Commands = append(p.Commands, Command{
		Name: "help", Usage: "list the commands, or tell what one does", Arguments: "[COMMAND]",
		Argument: Value{Kind: Word, Words: names},
	})
	return p
}

func helpOption() Option { return Option{Names: []string{"help", "h"}, Usage: "print this"} }

func optionsOf(command string, flags []cli.Flag, values Values) (found []Option) {
	for _, f := range flags {
		if visible, ok := f.(cli.VisibleFlag); ok && !visible.IsVisible() {
			continue
		}
		// Applied a second time, an option has its first name before any other.
		if f.Names()[0] == "help" || f.Names()[0] == "version" {
			continue
		}
		found = append(found, optionOf(command, f, values))
	}
	return found
}

func optionOf(command string, f cli.Flag, values Values) Option {
	o := Option{Names: f.Names()}
	doc, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return o
	}
	placeholder, text := unquote(doc.GetUsage())
	o.Usage = text
	if !doc.TakesValue() {
		return o
	}
	o.Value = values(command, o.Names[0])
	if o.Value.Kind == Text && o.Value.Words == nil {
		o.Value.Kind = kindOf(placeholder)
	}
	o.Argument = placeholder
	if placeholder == "" {
		o.Argument = argumentName(f, o.Value)
	}
	if !strings.Contains(text, "default") {
		o.Default = defaultOf(doc)
	}
	o.Repeated = strings.Contains(text, "(repeatable") || o.Value.Kind == List
	if several, ok := f.(cli.DocGenerationSliceFlag); ok && several.IsSliceFlag() {
		o.Repeated = true
	}
	return o
}

// unquote parts the name of a value, which stands in backquotes, from the text
// around it.
func unquote(text string) (placeholder, plain string) {
	before, rest, found := strings.Cut(text, "`")
	name, after, closed := strings.Cut(rest, "`")
	if !found || !closed {
		return "", text
	}
	return name, before + name + after
}

func kindOf(placeholder string) Kind {
	switch name, _, _ := strings.Cut(placeholder, "["); name {
	case "FILE", "PATH":
		return File
	case "DIR":
		return Directory
	}
	return Text
}

// argumentName names the value of a flag whose usage does not.
func argumentName(f cli.Flag, v Value) string {
	switch f.(type) {
	case *cli.IntFlag, *cli.Int64Flag, *cli.UintFlag, *cli.Uint64Flag, *cli.GenericFlag:
		return "N"
	case *cli.Float64Flag:
		return "X"
	case *cli.DurationFlag:
		return "TIME"
	}
	switch v.Kind {
	case Word, List:
		return "WORD"
	case File:
		return "FILE"
	case Directory:
		return "DIR"
	}
	return "VALUE"
}

// defaultOf is the default in words; zeros and empty ones say nothing.
func defaultOf(f cli.DocGenerationFlag) string {
	text := f.GetDefaultText()
	if text == "" {
		text = f.GetValue()
	}
	text = strings.Trim(text, `"`)
	text = strings.ReplaceAll(text, `", "`, ",")
	if slices.Contains([]string{"", "0", "0s", "false", "[]"}, text) {
		return ""
	}
	return text
}

// spelled is a name with its dashes.
func spelled(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// synopsis is the option as help texts show it: short names first.
func (o Option) synopsis() string {
	names := slices.Clone(o.Names)
	slices.SortStableFunc(names, func(a, b string) int { return min(len(a), 2) - min(len(b), 2) })
	for i, n := range names {
		names[i] = spelled(n)
	}
	text := strings.Join(names, ", ")
	if o.Argument != "" {
		text += " " + o.Argument
	}
	return text
}

// explained is the option's usage with its default.
func (o Option) explained() string {
	if o.Default == "" {
		return o.Usage
	}
	return o.Usage + " (default: " + o.Default + ")"
}
