import { describe, expect, it } from '@jest/globals';
import { startSecrets } from './start-secrets';

describe('the first slice', () => {
  const secrets = startSecrets();

  it('stores and returns what a token keeps for itself (S1.2, S20.1)', async () => {
    await secrets.root.write('cubbyhole/a/b', { color: 'green', n: 1 }).expect(204);
    const { body } = await secrets.root.read('cubbyhole/a/b').expect(200);
    expect(body.data).toEqual({ color: 'green', n: 1 });
    await secrets.root.list('cubbyhole/').expect(200, /"keys":\["a\/"\]/);
    await secrets.root.delete('cubbyhole/a/b').expect(204);
    await secrets.root.read('cubbyhole/a/b').expect(404, '{"errors":[]}\n');
  });
});
