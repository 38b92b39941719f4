package usage

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// columns is the width of help texts: that of the narrowest usual terminal.
const columns = 80

// SetHelp gives the definition help texts of 80 columns in place of the library's,
// which fill lines of any length.
func SetHelp(app *cli.App, values Values) {
	p := Of(app, values)
	app.CustomAppHelpTemplate = literal(p.help())
	for _, c := range app.Commands {
		for _, described := range p.Commands {
			if described.Name == c.Name {
				c.CustomHelpTemplate = literal(described.help(p.Name))
			}
		}
	}
}

// literal is a text/template of the text itself.
func literal(text string) string { return strings.ReplaceAll(text, "{{", `{{"{{"}}`) }

func (p Program) help() string {
	var b strings.Builder
	b.WriteString(p.Name + " - " + p.Usage + "\n\n")
	b.WriteString("Usage: " + p.Name + " [OPTIONS] COMMAND [OPTIONS]\n\nCommands:\n")
	var rows [][2]string
	for _, c := range p.Commands {
		rows = append(rows, [2]string{c.Name, c.Usage})
	}
	table(&b, rows)
	b.WriteString("\nOptions, before the command or after it:\n")
	table(&b, optionRows(p.Options))
	b.WriteString("\n'" + p.Name + " help COMMAND' tells what a command does and what else it takes.\n")
	return b.String()
}

func (c Command) help(program string) string {
	var b strings.Builder
	hanging(&b, program+" "+c.Name+" - ", c.Usage)
	b.WriteString("\n")
	hanging(&b, "Usage: ", strings.TrimSpace(program+" "+c.Name+" [OPTIONS] "+c.Arguments))
	if c.Description != "" {
		b.WriteString("\n")
		for _, paragraph := range paragraphs(c.Description) {
			hanging(&b, "", paragraph)
		}
	}
	b.WriteString("\nOptions:\n")
	table(&b, optionRows(c.Options))
	return b.String()
}

func optionRows(options []Option) (rows [][2]string) {
	for _, o := range options {
		rows = append(rows, [2]string{o.synopsis(), o.explained()})
	}
	return rows
}

// paragraphs undoes the line breaks of a description, but not its empty lines,
// which remain as empty paragraphs.
func paragraphs(text string) (found []string) {
	for i, p := range strings.Split(text, "\n\n") {
		if i > 0 {
			found = append(found, "")
		}
		found = append(found, strings.Join(strings.Fields(p), " "))
	}
	return found
}

// table writes two columns. A first one that is too wide has a line of its own.
func table(b *strings.Builder, rows [][2]string) {
	const widest = 24
	width := 0
	for _, r := range rows {
		if len(r[0]) <= widest {
			width = max(width, len(r[0]))
		}
	}
	for _, r := range rows {
		head := "  " + r[0]
		if len(r[0]) > width {
			b.WriteString(head + "\n")
			head = ""
		}
		hanging(b, head+strings.Repeat(" ", width+4-len(head)), r[1])
	}
}

// hanging writes text after head, in lines of at most 80 columns, the later ones
// indented by the width of head.
func hanging(b *strings.Builder, head, text string) {
	indent := strings.Repeat(" ", len(head))
	line := strings.Builder{}
	line.WriteString(head)
	empty := true
	for word := range strings.FieldsSeq(text) {
		if !empty && line.Len()+1+len(word) > columns {
			b.WriteString(line.String() + "\n")
			line.Reset()
			line.WriteString(indent)
			empty = true
		}
		if !empty {
			line.WriteByte(' ')
		}
		line.WriteString(word)
		empty = false
	}
	b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}
