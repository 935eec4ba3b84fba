#!/bin/sh
# Creates the secrets of an installation: database passwords and addresses, and the two seal keys, in one folder for each
# container. Existing files are not changed.
# Usage: make-secrets.sh [FOLDER]    (default: data/compose). POSTGRES_HOST: the host of the database (default: postgres).
set -eu
folder=${1:-data/compose}
host=${POSTGRES_HOST:-postgres}
umask 077
mkdir -p "$folder"

random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
# keep FOLDER/NAME CONTENT MODE: writes a file completely or not at all. Other users of this machine cannot enter the
# folder; the files in it must be readable by the numeric users inside the containers.
keep() {
  [ ! -e "$folder/$1" ] || return 0
  mkdir -p "$folder/${1%/*}"
  chmod 0755 "$folder/${1%/*}"
  # Earlier versions kept all files in one folder.
  if [ -f "$folder/${1#*/}" ]; then cat "$folder/${1#*/}"; else printf '%s' "$2"; fi > "$folder/$1.new"
  chmod "$3" "$folder/$1.new"
  mv "$folder/$1.new" "$folder/$1"
  echo "made $folder/$1"
}

keep postgres/postgres-password "$(random)" 0444
for service in secrets workspaces; do
  keep "postgres/$service-password" "$(random)" 0444
  keep "$service/$service-database-url" "postgresql://$service:$(cat "$folder/postgres/$service-password")@$host:5432/$service" 0444
  keep "$service/$service-seal-key" "$(random)" 0444
done
keep workspaces/workspaces-agent-token "$(random)" 0444
# The worker is root in its container, and the runs that it starts must not read this file.
keep worker/worker-agent-token "$(cat "$folder/workspaces/workspaces-agent-token")" 0400
# Earlier versions gave the worker the database address and the seal key.
rm -f "$folder/worker/worker-database-url" "$folder/worker/worker-seal-key"
echo "Back up $folder/secrets/secrets-seal-key and $folder/workspaces/workspaces-seal-key apart from the database: without them its content is lost."
