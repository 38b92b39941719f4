# fish completion for tides, written by "tides completion fish"

function __tides_command
	set -l tokens (commandline -opc)
	set -l command ''
	set -l value 0
	for token in $tokens[2..]
		if test $value = 1
			set value 0
		else if test "$token" = --
			contains -- "$command" again; and set command nested:
			break
		else if contains -- "$token" --count -n --color --moon --output -o --charts --every --datum --an-option-with-a-long-name
			set value 1
		else if test -z "$command"; and not string match -q -- '-*' $token
			set command $token
		end
	end
	echo $command
end

function __tides_command_nested
	set -l tokens (commandline -opc)
	set -l from (math 1 + (contains -i -- -- $tokens))
	complete -C "tides $tokens[$from..] "(commandline -ct)
end

complete -c tides -f
complete -c tides -n 'test (__tides_command) = nested:' -a '(__tides_command_nested)'
complete -c tides -n 'test -z (__tides_command)' -a 'show' -d 'show the tides of ports'
complete -c tides -n 'test -z (__tides_command)' -a 'again' -d 'do another command twice'
complete -c tides -n 'test -z (__tides_command)' -a 'help' -d 'list the commands, or tell what one does'
complete -c tides -n 'test -z (__tides_command)' -l count -s n -x -d 'how many: \'few\' or [many]'
complete -c tides -n 'test -z (__tides_command)' -l color -x -a 'auto never' -d 'auto or never'
complete -c tides -n 'test -z (__tides_command)' -l quiet -s q -d 'say nothing'
complete -c tides -n 'test -z (__tides_command)' -l help -s h -d 'print this'
complete -c tides -n 'test -z (__tides_command)' -l version -s v -d 'print the version'
complete -c tides -n 'test (__tides_command) = show' -l moon -x -a '(__fish_append , new full)' -d 'new, full or {{none}}'
complete -c tides -n 'test (__tides_command) = show' -l output -s o -r -F -d 'write to FILE'
complete -c tides -n 'test (__tides_command) = show' -l charts -x -a '(__fish_complete_directories)' -d 'DIR of charts (default: beside the program)'
complete -c tides -n 'test (__tides_command) = show' -l every -x -d 'time between two lines'
complete -c tides -n 'test (__tides_command) = show' -l datum -x -d 'level that counts as 0'
complete -c tides -n 'test (__tides_command) = show' -l an-option-with-a-long-name -x -d 'has a line of its own'
complete -c tides -n 'test (__tides_command) = show' -l count -s n -x -d 'how many: \'few\' or [many]'
complete -c tides -n 'test (__tides_command) = show' -l help -s h -d 'print this'
complete -c tides -n 'test (__tides_command) = show' -F -a 'cuxhaven brest'
complete -c tides -n 'test (__tides_command) = again' -l help -s h -d 'print this'
complete -c tides -n 'test (__tides_command) = help' -a 'show again'
