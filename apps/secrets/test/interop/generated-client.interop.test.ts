import { writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { generatedPythonSession, noPython, operationsIn, pythonGenerator, pythonWith } from '@keystead/testing';
import { secretsEngines } from '../auth-methods';
import { startSecrets } from '../start-secrets';

const it = noPython() ? test.skip : test;

// A client in another language, from another generator than the TypeScript client of the ordinary tests.
describe('a Python client generated from the OpenAPI document', () => {
  const secrets = startSecrets();

  it('has every operation, and uses mounts, policies, tokens, second factors and a rekey', async () => {
    const python = await pythonWith([pythonGenerator, 'pyotp==2.9.0']);
    try {
      await secrets.root.write('sys/mounts/kv1', { type: 'kv' }).expect(204);
      for (const type of secretsEngines) await secrets.root.write(`sys/mounts/${type}`, { type });
      await secrets.root.write('sys/auth/userpass', { type: 'userpass' }).expect(204);
      const { body: document } = await secrets.root.read('sys/internal/specs/openapi').expect(200);
      const { port } = secrets.server.address() as AddressInfo;
      const program = path.join(__dirname, 'generated-client-session.py');
      const args = [`http://127.0.0.1:${port}`, secrets.rootToken];
      const said = await generatedPythonSession(python, document, program, args);
      expect(said).toContain(`generated client: ${operationsIn(document)} operations, done`);
    } finally {
      python.remove();
    }
  }, 1_200_000);

  it('is generated from a document that Python’s validator accepts', async () => {
    const python = await pythonWith(['openapi-spec-validator==0.9.0']);
    try {
      for (const query of ['', '?generic_mount_paths=true']) {
        const { body: document } = await secrets.root.read(`sys/internal/specs/openapi${query}`).expect(200);
        const described = path.join(python.folder, 'openapi.json');
        writeFileSync(described, JSON.stringify(document));
        const { stdout } = await python.run('openapi-spec-validator', [described]);
        expect(stdout.trim()).toBe(`${described}: OK`);
      }
    } finally {
      python.remove();
    }
  }, 600_000);
});
