# Prints what an interactive zsh completes a line to: zsh -f complete.zsh LINE.
# The current directory has the function _fibchurn.
zmodload zsh/zpty || exit 1

# In the interactive shell, compadd also notes its matches, and a key prints them.
setup='
PROMPT= RPROMPT=
stty -echo -onlcr 2>/dev/null
fpath=($PWD $fpath)
autoload -Uz compinit && compinit -u -d $PWD/.zcompdump
zstyle ":completion:*" list-grouped false
typeset -ga harness_matched
compadd() {
	local -a hits
	if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
		builtin compadd "$@"
		return
	fi
	builtin compadd -A hits "$@"
	harness_matched+=("${hits[@]}")
	builtin compadd "$@"
}
report() {
	harness_matched=()
	_main_complete
	print -r -- "<matched>"
	print -rl -- "${harness_matched[@]}"
	print -r -- "</matched>"
	compstate[insert]= compstate[list]=
}
zle -C report complete-word report
bindkey "^X" report
print -r -- "<ready>"
'
zpty shell zsh -f -i
zpty -w shell "source <(print -r -- ${(q)setup})"
zpty -r shell text '*<ready>*' || exit 1
zpty -w -n shell "$1"$'\C-X'
zpty -r shell text '*</matched>*' || exit 1
zpty -d shell
text=${text##*<matched>}
text=${text%%</matched>*}
print -rl -- ${(u)${(f)text//$'\r'/}}
