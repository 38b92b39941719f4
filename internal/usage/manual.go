package usage

import (
	"fmt"
	"strings"
	"text/template"

	"github.com/cpuguy83/go-md2man/v2/md2man"
)

// Manual is the manual page, in roff. The text is a template of Markdown for the
// program; in it, {{options .Options}} and {{command .}} write what the
// definitions say.
func (p Program) Manual(text string) ([]byte, error) {
	page, err := template.New("manual").Funcs(template.FuncMap{
		"options": manualOptions,
		"command": p.manualCommand,
	}).Parse(text)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	if err := page.Execute(&b, p); err != nil {
		return nil, err
	}
	// A hyphen in roff is not the minus that a command line takes.
	return []byte(strings.NewReplacer(`\fB--`, `\fB\-\-`, `\fB-`, `\fB\-`).Replace(string(md2man.Render([]byte(b.String()))))), nil
}

func manualOptions(options []Option) string {
	var b strings.Builder
	for _, o := range options {
		names := strings.TrimSuffix(o.synopsis(), " "+o.Argument)
		b.WriteString("**" + strings.ReplaceAll(escaped(names), ", ", "**, **") + "**")
		if o.Argument != "" {
			b.WriteString(" *" + escaped(o.Argument) + "*")
		}
		b.WriteString("\n: " + escaped(o.explained()) + "\n\n")
	}
	return b.String()
}

// manualCommand is what the page says of a command: options of the program that
// mean the same to it are named and not told again.
func (p Program) manualCommand(c Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s %s** [*OPTIONS*] %s\n\n", p.Name, c.Name, escaped(c.Arguments))
	if c.Description == "" {
		b.WriteString(sentence(c.Usage) + "\n\n")
	}
	for _, paragraph := range paragraphs(c.Description) {
		b.WriteString(escaped(paragraph) + "\n")
	}
	b.WriteString("\n")
	var own []Option
	var shared []string
	for _, o := range c.Options {
		switch general := p.general(o.Names[0]); {
		case o.Names[0] == "help":
		case general == nil || general.Usage != o.Usage:
			own = append(own, o)
		case general.Default != o.Default:
			shared = append(shared, fmt.Sprintf("**%s** (default here: %s)", spelled(o.Names[0]), orNone(o.Default)))
		default:
			shared = append(shared, "**"+spelled(o.Names[0])+"**")
		}
	}
	b.WriteString(manualOptions(own))
	if len(shared) > 0 {
		b.WriteString("Of the general options: " + strings.Join(shared, ", ") + ".\n")
	}
	return b.String()
}

// general is the option of the program by that name, nil where there is none.
func (p Program) general(name string) *Option {
	for i := range p.Options {
		if p.Options[i].Names[0] == name {
			return &p.Options[i]
		}
	}
	return nil
}

func orNone(text string) string {
	if text == "" {
		return "0"
	}
	return text
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + escaped(text[1:]) + "." }

// escaped is text without a meaning in Markdown.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`, "[", `\[`, "]", `\]`, "|", `\|`).Replace(text)
}
