#!/bin/sh
# The least MCP server: where many are wanted, a shell costs a tenth of a Node process.
# SLOW = seconds its handshake waits, WORK = rounds it counts to; FAULTS_LOG = where it says when that begins and ends.
note() { [ -z "$FAULTS_LOG" ] || printf '{"at":%s,"pid":%s,"event":"%s"}\n' "$(date +%s%3N)" $$ "$1" >> "$FAULTS_LOG"; }
answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
note start
while IFS= read -r line; do
  id=${line##*\"id\":}
  id=${id%%[,\}]*}
  case $line in
    *'"method":"server/discover"'*) answer '"error":{"code":-32601,"message":"Method not found"}' ;;
    *'"method":"initialize"'*)
      [ -z "$SLOW" ] || sleep "$SLOW"
      round=0
      while [ "$round" -lt "${WORK:-0}" ]; do round=$((round + 1)); done
      note initialized
      answer '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"least","version":"1"}}' ;;
    *'"method":"tools/list"'*) answer '"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*) answer '"result":{"content":[{"type":"text","text":"hi"}]}' ;;
    *'"method":"notifications/'*) ;;
    *) answer '"result":{}' ;;
  esac
done
