#!/usr/bin/env node
// `npm start`: builds what is not built yet, then runs both services. Plain Node, so that it works before any package
// is installed.
import { createRequire } from 'node:module';
import path from 'node:path';
import { build, requireNode, root } from './bootstrap.mjs';
import { giveUp, step } from './progress.mjs';

try {
  requireNode();
  await build();
  await createRequire(import.meta.url)(path.join(root, 'local', 'dist', 'main.js')).main(process.argv.slice(2), step);
} catch (error) {
  giveUp(error);
}
