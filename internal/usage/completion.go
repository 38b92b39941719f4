package usage

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Shells are those that Completion writes a script for.
func Shells() []string { return []string{"bash", "zsh", "fish"} }

// Completion writes the completion script of a shell. The script is complete in
// itself: it never executes the program.
func (p Program) Completion(w io.Writer, shell string) error {
	var b strings.Builder
	switch shell {
	case "bash":
		p.bash(&b)
	case "zsh":
		p.zsh(&b)
	case "fish":
		p.fish(&b)
	default:
		return fmt.Errorf("shell %q is none of %s", shell, strings.Join(Shells(), ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// quoted is text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// names are those of the commands.
func (p Program) names() (found []string) {
	for _, c := range p.Commands {
		found = append(found, c.Name)
	}
	return found
}

// own are the options that a command's users are offered: its own, and those of
// the program that it does not repeat.
func own(options []Option) (spelledNames []string) {
	for _, o := range options {
		for _, n := range o.Names {
			spelledNames = append(spelledNames, spelled(n))
		}
	}
	return spelledNames
}

// nesting are the commands whose arguments are another command.
func (p Program) nesting() (found []string) {
	for _, c := range p.Commands {
		if c.Argument.Kind == Nested {
			found = append(found, c.Name)
		}
	}
	return found
}

// valued are the options of any command that take a value.
func (p Program) valued() (found []string) {
	add := func(options []Option) {
		for _, o := range options {
			if o.Argument == "" {
				continue
			}
			for _, n := range o.Names {
				if name := spelled(n); !slices.Contains(found, name) {
					found = append(found, name)
				}
			}
		}
	}
	add(p.Options)
	for _, c := range p.Commands {
		add(c.Options)
	}
	return found
}
