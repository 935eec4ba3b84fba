import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { showSecrets } from '../../../apps/secrets/test/metrics/show-metrics';
import { showWorkspaces } from '../../../apps/workspaces/test/metrics/show-metrics';

// Alerts, dashboards and the page about metrics name exactly the metrics that the services show.

const here = (file: string) => readFileSync(join(__dirname, file), 'utf8');
const ours = /\b(?:secrets|http|job|retention|process|nodejs|standby)_[a-z0-9_]+/g;
const named = (text: string): string[] => [...new Set(text.match(ours) ?? [])].sort();

type Shown = Awaited<ReturnType<typeof showSecrets>>;

/** The metrics of a scrape by name, each with its series and labels. */
function read(text: string) {
  const names = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => String(name));
  const series = new Set([...text.matchAll(/^([a-z_0-9]+)(?:\{| )/gm)].map(([, name]) => String(name)));
  const labels = new Set([...text.matchAll(/[{,]([a-z_]+)="/g)].map(([, name]) => String(name)));
  return { names, series, labels };
}

describe('metrics', () => {
  let services: Shown[];
  let secrets: ReturnType<typeof read>;
  let workspaces: ReturnType<typeof read>;
  beforeAll(async () => {
    services = [await showSecrets(), await showWorkspaces()];
    const scrape = async ({ port }: Shown) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    [secrets, workspaces] = (await Promise.all(services.map(scrape))).map(read) as [typeof secrets, typeof workspaces];
  });
  afterAll(() => Promise.all(services.map((service) => service.close())));

  it.each(['alerts.yml', 'secrets.json', 'workspaces.json'])('named in %s are shown by the services', (file) => {
    const all = new Set([...secrets.series, ...secrets.names, ...workspaces.series]);
    // Prometheus adds `exported_` to a label whose name it uses itself.
    expect(named(here(file).replaceAll('exported_job', 'job')).filter((name) => !all.has(name))).toEqual([]);
  });

  it.each(['secrets.json', 'workspaces.json'])('on the dashboard %s are those of its service', (file) => {
    const own = (file === 'secrets.json' ? secrets : workspaces).series;
    expect(named(here(file)).filter((name) => !own.has(name) && name !== 'job_last_run_timestamp_seconds')).toEqual([]);
  });

  it('are queried only by existing labels', () => {
    const grouped = (text: string) => [...text.matchAll(/by \(([a-z_, ]+)\)/g)].flatMap(([, by]) => by!.split(', '));
    const added = ['job', 'instance', 'exported_job', 'le'];
    const known = new Set([...secrets.labels, ...workspaces.labels, ...added]);
    for (const file of ['alerts.yml', 'secrets.json', 'workspaces.json']) {
      expect(grouped(here(file)).filter((label) => !known.has(label))).toEqual([]);
    }
  });

  it('are exactly those on the page about metrics', () => {
    const page = here('../../metrics.md');
    const documented = new Set([...page.matchAll(/`([a-z0-9_]+)`/g)].map(([, name]) => String(name)));
    const prefixes = [...page.matchAll(/`([a-z]+_)\*`/g)].map(([, prefix]) => String(prefix));
    const shown = [...new Set([...secrets.names, ...workspaces.names])];
    const isGroup = (name: string) => prefixes.some((prefix) => name.startsWith(prefix));
    expect(shown.filter((name) => !documented.has(name) && !isGroup(name))).toEqual([]);
    expect(named([...documented].join(' ')).filter((name) => !shown.includes(name))).toEqual([]);
  });

  it('that our services define are each on a dashboard', () => {
    const charted = here('secrets.json') + here('workspaces.json');
    const own = [...secrets.names, ...workspaces.names].filter((name) => !/^(process|nodejs)_/.test(name));
    expect(own.filter((name) => !charted.includes(name))).toEqual([]);
  });
});
