const access = 'apps/workspaces/src/kernel/access';
const pipeline = 'apps/secrets/src/pipeline';
const policy = 'apps/secrets/src/kernel/policy';

/** What StrykerJS alters, a part at a time, and the tests that should notice: those next to the code, without a database. */
export const parts = {
  keyring: folder('packages/keyring/src'),
  refusal: { mutate: ['packages/refusal/src/*.ts'], tests: ['packages/jsonapi/src/jsonapi.test.ts'] },
  envelope: folder('packages/envelope/src'),
  jsonapi: folder('packages/jsonapi/src'),
  auth: folder('packages/auth/src'),
  // The notation of policies, what its blocks say, and who may do what by them.
  'policy-notation': files(policy, 'hcl-tokens hcl json-tree text-cursor policy-tree duration', 'trees'),
  'policy-blocks': files(
    policy,
    'parse-policy path-rule policy-error policy-size list-filter password-policy template',
    'access-list',
  ),
  'policy-access': files(
    policy,
    'access access-list built-in capability compile merged-lists parameters rule rule-layer rule-tree template-witness',
  ),
  outside: folder('packages/outside/src'),
  // What several processes of a service say to each other is left to tests that start them.
  server: folder('packages/server/src', ['processes', 'metrics-of-all']),
  'console-host': folder('packages/console-host/src'),
  // What a grant and a right allow; who has which is asked of the database.
  rights: {
    mutate: ['access-levels', 'capabilities', 'organization-rights'].map((file) => `${access}/${file}.ts`),
    tests: [`${access}/*.test.ts`],
  },
  // The turns that requests take before they are decided; the rest of the pipeline is a whole service.
  'decision-queues': { mutate: [`${pipeline}/decision-queues.ts`], tests: [`${pipeline}/decision-turns.test.ts`] },
};

/** Some sources of a folder, and the tests that are named for them, or else. */
function files(place, sources, tests = '') {
  const named = (text, end) => (text === '' ? [] : text.split(' ').map((name) => `${place}/${name}${end}`));
  return { mutate: named(sources, '.ts'), tests: [...named(sources, '.test.ts'), ...named(tests, '.test.ts')] };
}

/** The sources of a folder and the quick tests next to them, but for those of a name that need a database or processes. */
function folder(place, but = []) {
  const without = but.flatMap((name) => [`!${place}/${name}.ts`]);
  return {
    mutate: [`${place}/**/*.ts`, `!${place}/**/*.test.ts`, ...without],
    tests: [
      `${place}/**/*.test.ts`,
      `!${place}/**/*.thorough.test.ts`,
      ...but.map((name) => `!${place}/${name}.test.ts`),
    ],
  };
}
