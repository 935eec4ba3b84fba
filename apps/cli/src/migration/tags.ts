import { type Import, listOrReport } from './import';
import { Refused } from './refused';
import { type RemoteResource, text } from './resource';

const namesOf = (workspace: RemoteResource | undefined) =>
  (workspace?.attributes['tag-names'] as string[] | null) ?? [];

/** Copies the flat tags of a workspace; refused ones are reported for manual work. */
export async function copyTags(
  job: Import,
  label: string,
  source: RemoteResource,
  target: RemoteResource | undefined,
): Promise<void> {
  const path = (id: string) => `workspaces/${id}/relationships/tags`;
  const { items, absent, unknown } = await job.from.survey(path(source.id));
  if (absent) job.report.miss('tags', unknown);
  // Either source may be incomplete: some servers do not paginate the tag list, and some truncate `tag-names`. Use the
  // union.
  const all = new Set([...items.map((tag) => text(tag, 'name')), ...namesOf(source)]);
  const here = namesOf(target);
  const missing = [...all].filter((name) => !here.includes(name));
  job.report.skip('tag', all.size - missing.length);
  if (missing.length === 0) return;
  const count = target && !job.plan ? await attach(job, label, path(target.id), missing) : missing.length;
  job.report.add('tag', count);
}

/** Attaches tags. Returns how many were attached. */
async function attach(job: Import, label: string, path: string, names: readonly string[]): Promise<number> {
  try {
    await job.to.act(path, { data: names.map((name) => ({ type: 'tags', attributes: { name } })) });
    return names.length;
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 422) throw error;
    if (names.length === 1) {
      job.report.manualStep(`${label}: the tag ${names[0]} could not be copied: ${error.reason}`);
      return 0;
    }
    let count = 0;
    for (const name of names) count += await attach(job, label, path, [name]);
    return count;
  }
}

/** Copies the key-value tags of a workspace. */
export async function copyBindings(
  job: Import,
  label: string,
  source: RemoteResource,
  target: RemoteResource | undefined,
): Promise<void> {
  const path = (id: string) => `workspaces/${id}/tag-bindings`;
  const flat = namesOf(source);
  const found = (await listOrReport(job, 'key-value tags', label, path(source.id))).filter(
    // Some servers show flat tags here too, as keys without a value.
    (binding) => text(binding, 'value') !== '' || !flat.includes(text(binding, 'key')),
  );
  if (found.length === 0) return;
  const here = new Set((target ? await job.to.list(path(target.id)) : []).map((binding) => text(binding, 'key')));
  const missing = found.filter((binding) => !here.has(text(binding, 'key')));
  job.report.skip('key-value tag', found.length - missing.length);
  const data = missing.map((binding) => ({
    type: 'tag-bindings',
    attributes: { key: text(binding, 'key'), value: text(binding, 'value') },
  }));
  if (target && data.length > 0 && !job.plan) await job.to.change(path(target.id), data);
  job.report.add('key-value tag', missing.length);
}
