const access = 'apps/workspaces/src/kernel/access';
const pipeline = 'apps/secrets/src/pipeline';
const policy = 'apps/secrets/src/kernel/policy';

/**
 * The parts that StrykerJS mutates one at a time, and the tests that should notice: those next to the code, without a
 * database.
 */
export const parts = {
  keyring: folder('packages/keyring/src'),
  refusal: { mutate: ['packages/refusal/src/*.ts'], tests: ['packages/jsonapi/src/jsonapi.test.ts'] },
  envelope: folder('packages/envelope/src'),
  jsonapi: folder('packages/jsonapi/src'),
  auth: folder('packages/auth/src'),
  // The syntax of policies, their blocks, and the access decisions.
  'policy-notation': files(policy, 'hcl-tokens hcl json-tree text-cursor policy-tree duration', 'trees'),
  'policy-blocks': files(
    policy,
    'parse-policy path-rule policy-error policy-size list-filter password-policy template',
    'access-list',
  ),
  'policy-access': files(
    policy,
    'access access-list built-in capability compile merged-lists parameters rule rule-layer template-witness',
    'rule-tree',
  ),
  outside: folder('packages/outside/src'),
  // Messages between the processes of a service are covered by tests that start them.
  server: folder('packages/server/src', ['processes', 'metrics-of-all']),
  'console-host': folder('packages/console-host/src'),
  // The effects of grants and rights; who has them is in the database.
  rights: {
    mutate: [`${access}/capabilities.ts`],
    tests: [`${access}/*.test.ts`],
  },
  // The queues of decisions; testing the rest of the pipeline needs a complete service.
  'decision-queues': { mutate: [`${pipeline}/decision-queues.ts`], tests: [`${pipeline}/decision-turns.test.ts`] },
};

/** Some sources of a folder, and their tests: those with the same name, unless given. */
function files(place, sources, tests = '') {
  const named = (text, end) => (text === '' ? [] : text.split(' ').map((name) => `${place}/${name}${end}`));
  return { mutate: named(sources, '.ts'), tests: [...named(sources, '.test.ts'), ...named(tests, '.test.ts')] };
}

/**
 * The sources of a folder and the quick tests next to them, except the named ones, which need a database or processes.
 */
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
