# The guides begin with `. docs/guides/shell.sh`, in the folder of `npm start`: the addresses of both services, their first
# tokens, and curl with a token. `api` sends the one in $TOKEN; `field a.b` prints a.b of the JSON that it reads.
first_run() { node --print "require('./data/first-run.json').$1"; }
SECRETS=$(first_run secrets.address)/v1
WORKSPACES=$(first_run workspaces.address)/api/v2
ROOT=$(first_run secrets.root_token)
ADMIN=$(first_run workspaces.token)

root() { curl --silent --show-error --fail-with-body --header "X-Service-Token: ${ROOT:?}" "$@"; }
api() { curl --silent --show-error --fail-with-body --header "X-Service-Token: ${TOKEN:?}" "$@"; }
admin() { curl --silent --show-error --fail-with-body --header "Authorization: Bearer ${ADMIN:?}" \
  --header 'Content-Type: application/vnd.api+json' "$@"; }
field() { node --print "JSON.parse(require('fs').readFileSync(0)).$1"; }
