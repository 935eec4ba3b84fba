# All images, from the root of the repository:  docker build --target secrets --tag localhost/keystead/secrets .
#   secrets, workspaces: the services    worker: for remote runs    agent: the same for a pool
# A registry other than npm's, or a CA: put an .npmrc next to package.json; it does not get into the images.
FROM node:24.21.0-bookworm-slim AS sources
WORKDIR /src
# npm reads no .npmrc of a project for what it installs globally, so it is named.
ENV CI=1 NPM_CONFIG_USERCONFIG=/src/.npmrc
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml .npmrc* ./
RUN npm install --global "$(node --print 'require("./package.json").packageManager')" && pnpm fetch
COPY . .

FROM sources AS packed-secrets
RUN docs/deploy/pack.sh /out secrets

FROM sources AS packed-workspaces
RUN docs/deploy/pack.sh /out workspaces

FROM node:24.21.0-bookworm-slim AS secrets
LABEL org.opencontainers.image.title="keystead/secrets" org.opencontainers.image.licenses="Apache-2.0"
# Every request is audited unless the operator says where to.
ENV NODE_ENV=production SECRETS_HOST=0.0.0.0 SECRETS_AUDIT_STDOUT=on
COPY docs/deploy/healthcheck.cjs docs/deploy/make-secrets.sh /srv/keystead/
COPY --from=packed-secrets /out/secrets /srv/keystead
# The command line: `docker exec … keystead backup create` finds the database by the settings of the service.
COPY --from=packed-secrets /out/keystead.cjs /usr/local/bin/keystead
WORKDIR /srv/keystead/apps/secrets
USER 10001:10001
EXPOSE 8200
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "/srv/keystead/healthcheck.cjs", "SECRETS", "8200"]
ENTRYPOINT ["node", "dist/main.js"]

FROM node:24.21.0-bookworm-slim AS workspaces
LABEL org.opencontainers.image.title="keystead/workspaces" org.opencontainers.image.licenses="Apache-2.0"
# Few arenas: what the threads that compress give back is not kept for each of them.
ENV NODE_ENV=production WORKSPACES_HOST=0.0.0.0 WORKSPACES_DRAIN_DELAY_SECONDS=5 MALLOC_ARENA_MAX=2
COPY docs/deploy/healthcheck.cjs docs/deploy/heard /srv/keystead/
COPY --from=packed-workspaces /out/workspaces /srv/keystead
COPY --from=packed-workspaces /out/keystead.cjs /usr/local/bin/keystead
WORKDIR /srv/keystead/apps/workspaces
USER 10001:10001
EXPOSE 8300
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "/srv/keystead/healthcheck.cjs", "WORKSPACES", "8300"]
ENTRYPOINT ["node", "dist/main.js"]

# What the tool asks of a machine, and what closes the network to its runs.
FROM workspaces AS worker
LABEL org.opencontainers.image.title="keystead/worker"
USER 0:0
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates git iproute2 iptables openssh-client \
 && rm -rf /var/lib/apt/lists/*
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 CMD ["/srv/keystead/heard"]
ENTRYPOINT ["node", "dist/worker-main.js"]

# It is given an address and the token of a pool.
FROM worker AS agent
LABEL org.opencontainers.image.title="keystead/agent"
CMD ["agent"]
