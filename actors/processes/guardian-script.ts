/**
 * The guardian's program for `/bin/sh`. It takes 2 MB and a millisecond instead of the 42 MB and 60
 * ms of another Node process, needs no file next to us, and works where the host is not plain Node
 * or is packed into a single file.
 *
 * It reads commands from its input, one per line, and acts when the input ends:
 *
 * ```text
 * + PID START    a group that this process leads; START distinguishes reused ids
 * - PID          its group is empty
 * bye            nothing is left of anything: ends without a word
 * ```
 *
 * An incomplete line is not a command. A group is signalled only while it is proved to be the
 * registered one: by its leader, or by a member that was seen in it before, because the kernel does
 * not reuse a number while a group has it. The loops run only builtins, except for `sleep`, `cat`,
 * `grep`, `tr` and, without `/proc`, `ps`.
 */

/** Environment for `ps` where `/proc` is missing; both sides must read equal start times. */
export const psEnvironment = { LC_ALL: 'C', TZ: 'UTC' } as const;

// Arguments: mark; registry file; `proc` or `ps`; 1 if the host was alive until now; the number of
// 100 ms waits in each phase (end of input, SIGTERM, SIGKILL); the run's control group.
export const guardianScript = `# guardian of mcp-troupe: ends MCP servers whose host died
trap '' HUP INT QUIT TERM PIPE TSTP
set -f
LC_ALL=${psEnvironment.LC_ALL} TZ=${psEnvironment.TZ}
export LC_ALL TZ
mark=$1 file=$2 way=$3 fresh=$4 inputRests=$5 termRests=$6 killRests=$7 cgroup=\${8:-}

drop() {
  kept=
  for one in $groups; do
    [ "\${one%%:*}" = "$1" ] || kept="$kept $one"
  done
  groups=$kept
}

# One process: its pid, group, state and start.
note() {
  case " $groups " in
    *" $1:$4 "*) proved="$proved $1" led="$led $1" ;;
    *" $1:"*) led="$led $1" ;;
  esac
  case " $seen " in *" $2/$1:$4 "*) proved="$proved $2" ;; esac
  case $3 in Z* | X*) return ;; esac
  case " $groups " in *" $2:"*) members="$members $2/$1:$4" ;; esac
}

# Every process that runs.
noteAll() {
  proved= led= members=
  if [ "$way" = proc ]; then
    IFS='
'
    set -- $(set +f; cat /proc/[0-9]*/stat 2> /dev/null)
    unset IFS
    for line do
      pid=\${line%% *}
      set -- \${line##*') '}
      note "$pid" "$3" "$1" "\${20}"
    done
  else
    IFS='
'
    # One -o each: on BSD and macOS the header that = begins goes to the end of its word.
    set -- $(ps -A -o pid= -o pgid= -o state= -o lstart=)
    unset IFS
    for line do
      set -- $line
      note "$1" "$2" "$3" "$4_$5_$6_$7_$8"
    done
  fi
}

# Forgets groups that are empty or not those that were registered; says whether any is left.
remain() {
  [ -n "$groups" ] || return 1
  noteAll
  kept= next=
  for one in $groups; do
    group=\${one%%:*}
    case " $proved " in
      *" $group "*) ;;
      *)
        # Not proved. A host that was alive a moment ago is believed unless another leader has
        # the number; a file is not.
        [ "$fresh" = 1 ] || continue
        case " $led " in *" $group "*) continue ;; esac
        ;;
    esac
    case " $members " in *" $group/"*) kept="$kept $one" ;; esac
  done
  groups=$kept fresh=0
  for one in $members; do
    case " $groups " in *" \${one%%/*}:"*) next="$next $one" ;; esac
  done
  seen=$next
  [ -n "$groups" ]
}

# Processes that left their group: found by their environment, and by the control group, which they
# inherit. Processes that were started to stay are left out.
marked() {
  [ "$way" = proc ] || return 0
  set +f
  grep -lF -e "$mark" /proc/[0-9]*/environ 2> /dev/null
  [ -n "$cgroup" ] || return 0
  for one in $(cat "$cgroup"/*/cgroup.procs 2> /dev/null); do
    tr '\\0' '\\n' < "/proc/$one/environ" 2> /dev/null | grep -qFx -e "\${mark%%=*}=stay" ||
      echo "/proc/$one/environ"
  done
}

send() {
  remain && for one in $groups; do kill "-$1" "-\${one%%:*}"; done
  for one in $(marked); do
    one=\${one#/proc/}
    kill "-$1" "\${one%/environ}"
  done
} 2> /dev/null

anyLeft() {
  remain || [ -n "$(marked)" ]
}

rest() {
  sleep 0.1 2> /dev/null || sleep 1
}

# Hundredths of a second since the machine started; 0 without /proc.
now() {
  now=0
  [ "$way" = proc ] && read -r now idle < /proc/uptime && now=\${now%.*}\${now#*.}
}

# Begins a phase of so many rests. On a busy machine a look takes longer than a rest, so they are
# counted and timed.
begin() {
  rests=$1
  now
  until=$((now + 10 * rests))
}

# Rests, unless the phase is over.
onward() {
  now
  [ "$rests" -gt 0 ] && [ "$now" -le "$until" ] || return 1
  rests=$((rests - 1))
  rest
}

# Waits until nothing is left, or the phase is over.
await() {
  begin "$1"
  while anyLeft; do onward || return 1; done
  return 0
}

# Those that are just being started escape one order; the next one finds them.
killAll() {
  begin "$1"
  while send KILL; anyLeft; do onward || return 1; done
  return 0
}

groups= seen=
while read -r order pid start; do
  case $order in
    +) drop "$pid"; groups="$groups $pid:$start" ;;
    -) drop "$pid" ;;
    bye) exit 0 ;;
  esac
done
# A process that was just being started when the host died may not carry the mark yet.
[ "$fresh" = 1 ] && rest
await "$inputRests" || { send TERM; await "$termRests"; } || killAll "$killRests" || exit 1
[ -z "$file" ] || rm -f "$file"
set +f
[ -z "$cgroup" ] || rmdir "$cgroup"/* "$cgroup" 2> /dev/null
exit 0
`;
