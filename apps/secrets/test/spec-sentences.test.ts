import { describe, expect, it } from '@jest/globals';
import { startSecrets } from './start-secrets';

describe('sentences of the specification', () => {
  const secrets = startSecrets();

  it('hold for documentation: the paths of a mount are under its mount path (SP.4)', async () => {
    await secrets.root.write('sys/mounts/jobs', { type: 'scheduler' }).expect(204);
    await secrets.root.write('jobs/role/ops', { policies: 'read' }).expect(204);
    await secrets.root.read('jobs/role/ops').expect(200);
    await secrets.root.read('scheduler/role/ops').expect(404);
    const { paths } = (await secrets.root.read('sys/internal/specs/openapi').expect(200)).body;
    for (const mount of ['jobs', 'scheduler']) expect(paths).toHaveProperty([`/${mount}/role/{name}`]);
  });
});
