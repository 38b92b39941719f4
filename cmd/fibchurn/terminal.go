package main

import (
	"os"

	"golang.org/x/term"
)

// isTerminal reports whether f is a terminal.
func isTerminal(f any) bool {
	file, ok := f.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// width is the number of columns of a terminal, 0 where f is none.
func width(f any) int {
	if !isTerminal(f) {
		return 0
	}
	columns, _, err := term.GetSize(int(f.(*os.File).Fd()))
	if err != nil {
		return 0
	}
	return columns
}
