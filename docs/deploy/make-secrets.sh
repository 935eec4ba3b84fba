#!/bin/sh
# Makes the secrets that docker-compose.yml reads: database passwords and the two seal keys.
# Usage: docs/deploy/make-secrets.sh [FOLDER]     (default: data/compose; what is there already stays)
set -eu
folder=${1:-data/compose}
host=${POSTGRES_HOST:-postgres}
umask 077
mkdir -p "$folder"

random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
# The folder is closed to others; the files in it must be readable by the numeric users inside the containers.
keep() { [ -e "$folder/$1" ] || { printf '%s' "$2" > "$folder/$1"; chmod 0444 "$folder/$1"; echo "made $folder/$1"; }; }

keep postgres-password "$(random)"
for service in secrets workspaces; do
  keep "$service-password" "$(random)"
  keep "$service-database-url" "postgresql://$service:$(cat "$folder/$service-password")@$host:5432/$service"
  keep "$service-seal-key" "$(random)"
done
# The worker is root in its container, and what it starts there must not read these.
for name in database-url seal-key; do
  [ -e "$folder/worker-$name" ] || { cat "$folder/workspaces-$name" > "$folder/worker-$name"; chmod 0400 "$folder/worker-$name"; }
done
echo "Back up $folder/secrets-seal-key and $folder/workspaces-seal-key apart from the database: without them its content is lost."
