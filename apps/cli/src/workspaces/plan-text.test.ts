import { describe, expect, it } from '@jest/globals';
import { planText } from './plan-text';

/** As the provider of a cloud would declare and change a server with blocks. */
const server = {
  address: 'cloud_server.web["a"]',
  mode: 'managed',
  type: 'cloud_server',
  name: 'web',
  index: 'a',
  provider_name: 'example.com/cloud',
};
const provider_schemas = {
  'example.com/cloud': {
    resource_schemas: {
      cloud_server: {
        block: {
          attributes: {
            id: { type: 'string' },
            size: { type: 'string' },
            image: { type: 'string' },
            password: { type: 'string', sensitive: true },
            tags: { type: ['map', 'string'] as const },
            groups: { type: ['set', 'string'] as const },
          },
          block_types: {
            disk: {
              nesting_mode: 'list',
              block: { attributes: { gb: { type: 'number' }, kind: { type: 'string' } } },
            },
          },
        },
      },
    },
  },
};
const before = {
  id: 'i-1',
  size: 'small',
  image: 'old',
  password: 'p',
  tags: { a: '1', b: '2' },
  groups: ['x', 'y'],
  disk: [
    { gb: 8, kind: 'fast' },
    { gb: 1, kind: 'slow' },
  ],
};
const planOf = (change: object, more: object = {}) =>
  planText({
    resource_changes: [{ ...server, ...more, change: change as { actions: string[] } }],
    provider_schemas,
  });

describe('a plan as the tool prints it', () => {
  it('shows changed attributes and blocks, and counts the others', () => {
    const after = { ...before, size: 'large', tags: { a: '1', b: '3' }, groups: ['x', 'z'] };
    const disk = [{ gb: 9, kind: 'fast' }, before.disk[1]];
    expect(planOf({ actions: ['update'], before, after: { ...after, disk } })).toBe(`
Terraform used the selected providers to generate the following execution
plan. Resource actions are indicated with the following symbols:
  ~ update in-place

Terraform will perform the following actions:

  # cloud_server.web["a"] will be updated in-place
  ~ resource "cloud_server" "web" {
      ~ groups   = [
          - "y",
          + "z",
            # (1 unchanged element hidden)
        ]
        id       = "i-1"
      ~ size     = "small" -> "large"
      ~ tags     = {
          ~ "b" = "2" -> "3"
            # (1 unchanged element hidden)
        }
        # (2 unchanged attributes hidden)

      ~ disk {
          ~ gb   = 8 -> 9
            # (1 unchanged attribute hidden)
        }

        # (1 unchanged block hidden)
    }

Plan: 0 to add, 1 to change, 0 to destroy.
`);
  });

  it('names what forces a replacement, and why', () => {
    const after = { ...before, image: 'new', id: undefined, password: 'q' };
    const text = planOf(
      {
        actions: ['create', 'delete'],
        before,
        after,
        after_unknown: { id: true },
        replace_paths: [['image']],
      },
      { action_reason: 'replace_because_tainted' },
    );
    expect(text).toContain('  # cloud_server.web["a"] is tainted, so must be replaced\n+/- resource');
    expect(text).toContain('      ~ image    = "old" -> "new" # forces replacement\n');
    expect(text).toContain('      ~ id       = "i-1" -> (known after apply)\n');
    expect(text).toContain('      ~ password = (sensitive value)\n');
    expect(text).toContain('Plan: 1 to add, 0 to change, 1 to destroy.');
  });

  it.each([
    [{ actions: ['delete'], before }, 'delete_because_each_key', 'because key ["a"] is not in for_each map'],
    [
      { actions: ['delete'], before },
      'delete_because_no_resource_config',
      'because cloud_server.web is not in configuration',
    ],
    [{ actions: ['no-op'], before, after: before, importing: { id: 'i-1' } }, undefined, 'imported from "i-1"'],
  ])('gives the reason of a change: case %#', (change, action_reason, why) => {
    expect(planOf(change, { action_reason })).toContain(`  # (${why})\n`);
  });

  it('reports that nothing changes, or what changed outside', () => {
    expect(planText({})).toContain('No changes. Your infrastructure matches the configuration.');
    const drift = { ...server, change: { actions: ['update'], before, after: { ...before, size: 'huge' } } };
    const text = planText({ resource_drift: [drift], provider_schemas });
    expect(text).toContain('Objects have changed outside of Terraform');
    expect(text).toContain('      ~ size     = "small" -> "huge"\n');
  });

  it('pairs the lines of long strings and lists in bounded time', () => {
    const lines = (mark: string) => Array.from({ length: 5000 }, (_, n) => `${mark}${n}`).join('\n');
    const change = { actions: ['update'], before: { image: lines('a') }, after: { image: lines('b') } };
    expect(planOf(change).length).toBeGreaterThan(60_000);
  });
});
