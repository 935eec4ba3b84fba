import type { Making, World } from './at-once-examples';

/** An unused key. */
const key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHo5WTszQ3xJfMKmHKZ2VZN+b5nRKzUa1E3qrxKoJqHi';
const forUsers = { key_type: 'ca', allow_user_certificates: true, allowed_users: '*', default_user: 'jane' };
const forHosts = { key_type: 'otp', default_user: 'jane', cidr_list: '10.0.0.0/8' };

async function issuer(world: World): Promise<string> {
  return (await world.root('POST', 'ssh/issuers/import', { key_type: 'ed25519' })).data.issuer_id;
}

async function role(world: World, fields: object): Promise<string> {
  const name = world.fresh();
  await world.root('POST', `ssh/roles/${name}`, fields);
  return name;
}

const byRole =
  (fields: object, body: (n: number) => object): Making =>
  async (world) => {
    await issuer(world);
    return { at: { role: await role(world, fields) }, body };
  };
const byIssuer =
  (body: (n: number, id: string) => object = () => ({})): Making =>
  async (world) => {
    const issuer_ref = await issuer(world);
    return { at: { issuer_ref }, body: (n) => body(n, issuer_ref) };
  };
const makes = () => ({ key_type: 'ed25519' });

/** How each writing operation of the engine ssh is called. */
export const sshExamples: Readonly<Record<string, Making>> = {
  'write ssh/config/ca': () => ({ body: makes }),
  'delete ssh/config/ca': 'would take the issuers from the other examples',
  'write ssh/issuers/import': () => ({ body: makes }),
  // Only one of the simultaneous calls gets the name.
  'write ssh/issuers/import/:issuer_name': (world) => ({
    at: { issuer_name: world.fresh() },
    body: makes,
    also: [400],
  }),
  'write ssh/issuer/:issuer_ref': byIssuer((n, id) => ({ issuer_name: `i${n}-${id}` })),
  'delete ssh/issuer/:issuer_ref': byIssuer(),
  'write ssh/config/issuers': async (world) => {
    const id = await issuer(world);
    return { body: () => ({ default: id }) };
  },
  'write ssh/roles/:role': async (world) => ({
    at: { role: world.fresh() },
    body: (n) => ({ ...forUsers, ttl: n + 1 }),
  }),
  'delete ssh/roles/:role': byRole(forUsers, () => ({})),
  'write ssh/sign/:role': byRole(forUsers, () => ({ public_key: key })),
  'write ssh/issue/:role': byRole(forUsers, makes),
  'write ssh/creds/:role': byRole(forHosts, () => ({ ip: '10.0.0.1' })),
  'write ssh/verify': async (world) => {
    const { data } = await world.root('POST', `ssh/creds/${await role(world, forHosts)}`, { ip: '10.0.0.1' });
    return { body: () => ({ otp: data.key }), also: [400] };
  },
  'write ssh/lookup': () => ({ body: () => ({ ip: '10.0.0.1' }) }),
  'write ssh/config/zeroaddress': async (world) => {
    const name = await role(world, forHosts);
    return { body: () => ({ roles: [name] }) };
  },
  'delete ssh/config/zeroaddress': () => ({}),
};
