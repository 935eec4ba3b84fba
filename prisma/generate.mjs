#!/usr/bin/env node
// Generates the Prisma client of one service. PRISMA_SCHEMA_ENGINE_BINARY names any existing file, so that the
// command downloads nothing: generating needs no native engine.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const service = process.argv[2];
const cli = createRequire(path.join(here, '..', 'package.json')).resolve('prisma/build/index.js');
const { status } = spawnSync(
  process.execPath,
  [cli, 'generate', '--config', path.join(here, service, 'prisma.config.ts')],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
      PRISMA_HIDE_UPDATE_MESSAGE: '1',
      CHECKPOINT_DISABLE: '1',
    },
  },
);
process.exit(status ?? 1);
