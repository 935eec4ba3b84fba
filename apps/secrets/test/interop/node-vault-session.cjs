// A scripted session of the client node-vault: its module folder, address and root token come as arguments.
const assert = require('node:assert/strict');
const path = require('node:path');

const [modules, endpoint, token] = process.argv.slice(2);
const vault = require(path.join(modules, 'node-vault'))({ apiVersion: 'v1', endpoint, token });

async function session() {
  assert.equal((await vault.initialized()).initialized, true);
  assert.equal((await vault.status()).sealed, false);
  assert.equal((await vault.health()).initialized, true);

  await vault.mount({ mount_point: 'nv', type: 'kv', options: { version: '1' } });
  assert.ok('nv/' in (await vault.mounts()));
  await vault.write('nv/a/b', { value: 'world', n: 1 });
  assert.deepEqual((await vault.read('nv/a/b')).data, { value: 'world', n: 1 });
  assert.deepEqual((await vault.list('nv/a')).data.keys, ['b']);
  await vault.delete('nv/a/b');
  await assert.rejects(vault.read('nv/a/b'), /404/);
  await vault.unmount({ mount_point: 'nv' });

  await vault.addPolicy({ name: 'nv-reader', rules: '{ "path": { "cubbyhole/*": { "policy": "read" } } }' });
  assert.ok((await vault.policies()).policies.includes('nv-reader'));
  assert.equal((await vault.getPolicy({ name: 'nv-reader' })).name, 'nv-reader');

  const { auth } = await vault.tokenCreate({ policies: ['nv-reader'], ttl: '1h' });
  // The client continues with a token that it was just given.
  assert.equal(vault.token, auth.client_token);
  vault.token = token;
  assert.equal((await vault.tokenLookup({ token: auth.client_token })).data.display_name, 'token');
  assert.equal((await vault.tokenRenew({ token: auth.client_token, increment: 600 })).auth.lease_duration, 600);
  vault.token = token;
  await vault.tokenRevoke({ token: auth.client_token });
  await assert.rejects(vault.tokenLookup({ token: auth.client_token }), /bad token/);
  assert.deepEqual((await vault.tokenLookupSelf()).data.policies, ['root']);

  await vault.enableAuth({ mount_point: 'nv-userpass', type: 'userpass' });
  await vault.write('auth/nv-userpass/users/bob', { password: 'correct horse battery', token_policies: 'nv-reader' });
  const login = await vault.userpassLogin({
    username: 'bob',
    password: 'correct horse battery',
    mount_point: 'nv-userpass',
  });
  assert.equal(login.auth.metadata.username, 'bob');
  vault.token = token;
  await vault.disableAuth({ mount_point: 'nv-userpass' });
  await vault.removePolicy({ name: 'nv-reader' });
}

session().then(
  () => process.stdout.write('node-vault: done\n'),
  (error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
