import type { CommandSpec } from '../command';
import type { Context } from '../context';
import type { Remote } from '../migration/remote';
import type { RemoteResource } from '../migration/resource';
import { exitCodes, Problem } from '../problem';
import { findService, organizationFlag, organizationOf, type ServiceFlags } from '../workspaces/service';

interface AddressFlags extends ServiceFlags {
  limits?: string;
  pool?: string[];
  description?: string;
  disabled?: boolean;
}

const named = { '<list>': 'its name' } as const;
const rangesOf = ({ id }: RemoteResource): string => `cidr-range-lists/${id}/relationships/cidr-ranges`;

/** `address …`: the addresses from which an organization may be used, and from which its agents may connect. */
export const addressCommands: readonly CommandSpec[] = [
  {
    name: 'address list',
    help: 'List the address lists of an organization with their ranges.',
    flags: organizationFlag,
    examples: ['address list -organization=harbour'],
    async run(context, flags: AddressFlags) {
      const service = findService(context);
      const found = await service.list(`organizations/${organizationOf(context, flags)}/cidr-range-lists`);
      const rows: unknown[][] = [];
      for (const list of found) {
        const { name, 'enforcement-scope': limits } = list.attributes ?? {};
        const ranges = await service.list(rangesOf(list));
        if (ranges.length === 0) rows.push([name, limits, '', '']);
        for (const { attributes = {} } of ranges) {
          rows.push([name, limits, attributes.range, attributes.enabled ? 'enabled' : 'disabled']);
        }
      }
      context.output.rows(found, ['list', 'limits', 'range', 'state'], rows);
    },
  },
  {
    name: 'address create',
    help: 'Create an address list; it limits no one until it has a range.',
    args: named,
    flags: {
      ...organizationFlag,
      '--limits <scope>': 'organization, all_agent_pools or selected_agent_pools; default: organization',
      '--pool <id>': { help: 'agent pool, for selected_agent_pools', repeatable: true },
      '--description <text>': 'what it is for',
    },
    examples: ['address create -organization=harbour office', 'address create -limits=all_agent_pools racks'],
    async run(context, flags: AddressFlags, name: string) {
      const { limits, pool = [], description } = flags;
      const found = await findService(context).create(
        `organizations/${organizationOf(context, flags)}/cidr-range-lists`,
        {
          type: 'cidr-range-lists',
          attributes: {
            name,
            ...(limits ? { 'enforcement-scope': limits } : {}),
            ...(description ? { description } : {}),
          },
          relationships: { 'agent-pools': { data: pool.map((id) => ({ type: 'agent-pools', id })) } },
        },
      );
      context.output.show(found, { id: found.id, name, limits: found.attributes?.['enforcement-scope'] });
    },
  },
  {
    name: 'address add',
    help: 'Add ranges to an address list. A range that would lock out your own address is refused.',
    args: { ...named, '<ranges...>': 'for example 192.0.2.0/24' },
    flags: {
      ...organizationFlag,
      '--disabled': 'add the ranges disabled',
      '--description <text>': 'description of the ranges',
    },
    examples: ['address add -organization=harbour office 192.0.2.0/24'],
    async run(context, flags: AddressFlags, name: string, ...ranges: string[]) {
      const service = findService(context);
      const list = await listOf(context, service, flags, name);
      const { disabled = false, description } = flags;
      for (const range of ranges) {
        const attributes = { range, enabled: !disabled, ...(description ? { description } : {}) };
        await service.create(rangesOf(list), { type: 'cidr-ranges', attributes });
      }
      context.output.note(`added to ${name}: ${ranges.join(', ')}`);
    },
  },
  {
    name: 'address delete',
    help: 'Delete ranges of an address list, or the whole list.',
    args: { ...named, '[ranges...]': 'ranges to delete; by default the whole list' },
    flags: organizationFlag,
    examples: ['address delete -organization=harbour office 192.0.2.0/24', 'address delete office'],
    async run(context, flags: AddressFlags, name: string, ...ranges: string[]) {
      const service = findService(context);
      const list = await listOf(context, service, flags, name);
      const there = await service.list(rangesOf(list));
      const found = ranges.map((range) => there.find(({ attributes }) => attributes?.range === range));
      const absent = ranges.filter((_, at) => !found[at]);
      if (absent.length > 0) throw new Problem(`${name} has no range ${absent.join(', ')}`, exitCodes.refused);
      for (const one of found) if (one) await service.remove(`cidr-ranges/${one.id}`);
      if (ranges.length === 0) await service.remove(`cidr-range-lists/${list.id}`);
      context.output.note(`deleted: ${ranges.length === 0 ? name : ranges.join(', ')}`);
    },
  },
];

/** The address list with this name. Throws `Problem` if no list or more than one list has this name. */
async function listOf(context: Context, service: Remote, flags: AddressFlags, name: string): Promise<RemoteResource> {
  const all = await service.list(`organizations/${organizationOf(context, flags)}/cidr-range-lists`);
  const [found, another] = all.filter(({ id, attributes }) => attributes?.name === name || id === name);
  if (!found) throw new Problem(`there is no address list ${name}`, exitCodes.refused);
  if (another) throw new Problem(`there are several address lists ${name}: give an id`, exitCodes.refused);
  return found;
}
