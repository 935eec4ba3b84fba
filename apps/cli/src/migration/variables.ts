import { attempt, type Import, listOrReport, make, once } from './import';
import { pick, type RemoteResource, text } from './resource';

const copiedAttributes = ['key', 'description', 'category', 'hcl', 'sensitive'];

/** Copies variables from one list to another; `to` is undefined if a plan has not created its owner. */
export async function copyVariables(job: Import, label: string, from: string, to: string | undefined): Promise<void> {
  const keyOf = (variable: RemoteResource) => `${text(variable, 'category')} ${text(variable, 'key')}`;
  const before = new Map((to ? await job.to.list(to) : []).map((variable) => [keyOf(variable), variable]));
  for (const source of await listOrReport(job, 'variables', label, from)) {
    const name = text(source, 'key');
    const { sensitive, value } = source.attributes;
    if (sensitive) job.report.manualStep(`${label}: the value of the sensitive variable ${name} must be set here`);
    const attributes = { ...pick(source, copiedAttributes), ...(sensitive ? {} : { value: value ?? '' }) };
    await attempt(job, `${label}, variable ${name}`, () =>
      once(job, 'variable', before.get(keyOf(source)), () =>
        make(job, `${label}, variable ${name}`, String(to), { type: 'vars', attributes }),
      ),
    );
  }
}
