#!/bin/sh
# Builds services and puts each, with only the files that it needs to run, into FOLDER/NAME. It replaces the packages that are
# installed in this checkout, so use a separate checkout. Usage, at the root of the repository:
#   docs/deploy/pack.sh FOLDER NAME…    (secrets, workspaces)
# Needs Node and pnpm; behind a mirror, an .npmrc next to package.json. Also creates FOLDER/keystead.cjs, the command line.
set -eu
into=$1
shift
# Prisma warns that it finds no OpenSSL, which is not needed to generate clients.
export CI=1 TURBO_TELEMETRY_DISABLED=1 PRISMA_DISABLE_WARNINGS=1
filters=
for service in "$@"; do filters="$filters --filter @keystead/$service..."; done
# shellcheck disable=SC2086
pnpm install --frozen-lockfile --prefer-offline --filter keystead --filter '@keystead/cli...' $filters
for service in "$@"; do
  pnpm --filter "@keystead/$service" run generate
  pnpm --filter "@keystead/$service..." run build
done
pnpm --filter @keystead/cli run bundle
mkdir -p "$into"
cp apps/cli/dist/keystead.cjs "$into/keystead.cjs"

for service in "$@"; do
  out=$into/$service
  rm -rf node_modules apps/*/node_modules packages/*/node_modules "$out"
  # Only production dependencies, exactly as locked; the embedded PostgreSQL is optional and stays out.
  pnpm install --prod --no-optional --frozen-lockfile --offline --filter-prod "@keystead/$service..."
  # Types and source maps are only for developers, and nothing here loads the ECMAScript modules of OpenTelemetry.
  find node_modules apps/*/dist packages/*/dist -type f \( -name '*.d.ts' -o -name '*.d.[cm]ts' \) -delete
  find node_modules -type f -name '*.map' -delete
  rm -rf node_modules/.pnpm/@opentelemetry+*/node_modules/@opentelemetry/*/build/esm \
    node_modules/.pnpm/@opentelemetry+*/node_modules/@opentelemetry/*/build/esnext
  # Only the runtime for PostgreSQL and CommonJS of the database client is ever loaded.
  find node_modules -path '*/@prisma/client/runtime/*' \
    \( -name '*.mysql.*' -o -name '*.sqlite.*' -o -name '*.sqlserver.*' -o -name '*.cockroachdb.*' -o -name '*edge*' -o -name '*.mjs' \) -delete
  # Keep only the files that packages/api-page sends for the page at /docs, and their licences.
  find node_modules -path '*/swagger-ui-dist/*' ! -name package.json ! -name swagger-ui.css ! -name swagger-ui-bundle.js \
    ! -name LICENSE ! -name NOTICE ! -name swagger-ui-bundle.js.LICENSE.txt -type f -delete
  mkdir -p "$out/prisma/$service"
  cp -a package.json node_modules LICENSE "$out"
  cp -a "prisma/$service/migrations" "$out/prisma/$service"
  for folder in $(pnpm --silent --filter-prod "@keystead/$service..." list --depth -1 --parseable); do
    own=$out${folder#"$PWD"}
    mkdir -p "$own"
    cp -a "$folder/package.json" "$folder/dist" "$own"
    [ ! -d "$folder/node_modules" ] || cp -a "$folder/node_modules" "$own"
  done
done
