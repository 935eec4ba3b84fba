# All images, from the root of the repository:  docker build --target secrets --tag localhost/keystead/secrets .
#   secrets, workspaces: the services    worker: carries out remote runs    agent: a worker of an agent pool
# To use another registry than npm's, or a CA, put an .npmrc next to package.json. It is not copied into the images.
FROM node:24.21.0-bookworm-slim AS sources
WORKDIR /src
# For global packages npm does not read the .npmrc of the project, so it is named here.
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
# Every request is audited to standard output, unless the operator configures it.
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
# With few arenas, the C library does not keep freed memory separately for each compressing thread.
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

# The packages that the tool needs, and those that block parts of the network to runs.
FROM workspaces AS worker
LABEL org.opencontainers.image.title="keystead/worker"
USER 0:0
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates git iproute2 iptables openssh-client \
 && rm -rf /var/lib/apt/lists/*
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 CMD ["/srv/keystead/heard"]
ENTRYPOINT ["node", "dist/worker-main.js"]

# It gets the address of the service and the token of a pool.
FROM worker AS agent
LABEL org.opencontainers.image.title="keystead/agent"
CMD ["agent"]
