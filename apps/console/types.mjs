// Writes the types of the workspace service's interface from its own OpenAPI document: `src/api/generated/`. They are
// committed, so that a build needs no service; `--check` fails if they differ from the document. Run with: node --conditions=source --require=tsx/cjs
// apps/console/types.mjs
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const require = createRequire(import.meta.url);
const { generatedTypes } = require('../../packages/testing/src/generated-client.ts');
const { resources } = require('../workspaces/src/resources/registry.ts');
const { openapiDocument } = require('../workspaces/src/kernel/endpoints/openapi.ts');

const file = path.join(import.meta.dirname, 'src', 'api', 'generated', 'workspaces.d.ts');

/**
 * The document without the parts that the browser's calls do not use: refusals, names of operations, bounds of numbers.
 */
function document() {
  const options = { edition: 'self-hosted', aliases: false, publicUrl: '', prefix: '/api/v2' };
  const described = resources.filter(({ name }) => name !== 'openapi');
  const whole = JSON.parse(JSON.stringify(openapiDocument(described, options)));
  const paths = Object.entries(whole.paths).filter(([name]) => name.startsWith('/api/v2/'));
  for (const operation of paths.flatMap(([, methods]) => Object.values(methods))) {
    delete operation.operationId;
    operation.parameters = operation.parameters
      .filter((parameter) => parameter.in !== 'header')
      .map(({ description, ...others }) => others);
    operation.responses = Object.fromEntries(Object.entries(operation.responses).filter(([status]) => status < '300'));
  }
  return withReached({ ...whole, paths: Object.fromEntries(paths) });
}

/** A document with only the schemas that its paths reach. */
function withReached({ components, ...document }) {
  const reached = {};
  const follow = (part) => {
    for (const [, name] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (name in reached) continue;
      reached[name] = components.schemas[name];
      follow(reached[name]);
    }
  };
  follow(document.paths);
  return { ...document, components: { ...components, schemas: reached } };
}

/** Removes members of type `never`, empty members and annotations, which do not change the meaning of the types. */
const withoutNothing = (text) =>
  text
    .replace(/^ *\w+\?: never;\n/gm, '')
    .replace(/^ *headers: \{\n *\[name: string\]: unknown;\n *\};\n/gm, '')
    .replace(/^ *parameters: \{\n *\};\n/gm, '')
    .replace(/^ *\/\*\* (Format|@enum|@default|@description) .*\*\/\n/gm, '')
    .replace(/^ {4,}/gm, (spaces) => ' '.repeat(spaces.length / 2));

const types = withoutNothing(await generatedTypes(document()));
if (!process.argv.includes('--check')) {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, types);
} else if (!existsSync(file) || readFileSync(file, 'utf8') !== types) {
  process.stderr.write('The types of the console are no longer those of the interface: run `pnpm console-types`.\n');
  process.exitCode = 1;
}
