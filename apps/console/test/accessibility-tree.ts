import type { Page } from 'playwright-core';

/** A node of the tree that the browser gives to screen readers, without ignored nodes. */
export interface SpokenNode {
  readonly role: string;
  readonly name: string;
  /** Of a heading. */
  readonly level?: number;
}

interface Value {
  readonly value?: unknown;
}
interface AxNode {
  readonly nodeId: string;
  readonly childIds?: readonly string[];
  readonly ignored: boolean;
  readonly role?: Value;
  readonly name?: Value;
  readonly properties?: readonly { readonly name: string; readonly value: Value }[];
}

const textOf = (value: Value | undefined): string => String(value?.value ?? '').trim();

/** The nodes of a page that a screen reader gets, in reading order. */
export async function spokenNodes(page: Page): Promise<SpokenNode[]> {
  const browser = await page.context().newCDPSession(page);
  try {
    const { nodes } = (await browser.send('Accessibility.getFullAXTree')) as { nodes: readonly AxNode[] };
    const known = new Map(nodes.map((node) => [node.nodeId, node]));
    const read = (node: AxNode | undefined): SpokenNode[] => {
      if (node === undefined) return [];
      const { ignored, role, name, properties = [], childIds = [] } = node;
      const level = properties.find((property) => property.name === 'level')?.value.value;
      const own = { role: textOf(role), name: textOf(name), ...(typeof level === 'number' ? { level } : {}) };
      return [...(ignored ? [] : [own]), ...childIds.flatMap((id) => read(known.get(id)))];
    };
    return read(nodes[0]);
  } finally {
    await browser.detach();
  }
}

/** Roles that are useless without a name. */
const named = new Set([
  ...['button', 'link', 'textbox', 'searchbox', 'combobox', 'checkbox', 'radio', 'switch', 'slider', 'spinbutton'],
  ...['tab', 'menuitem', 'option', 'table', 'navigation', 'dialog', 'region', 'progressbar', 'img', 'image', 'heading'],
]);

/** The problems of a page for people who use a screen reader. */
export function problemsOf(nodes: readonly SpokenNode[]): string[] {
  const problems = nodes
    .filter(({ role, name }) => named.has(role) && name === '')
    .map(({ role }) => `a ${role} has no name`);
  const mains = nodes.filter(({ role }) => role === 'main').length;
  if (mains !== 1) problems.push(`${mains} main landmarks`);
  const headings = nodes.filter(({ role }) => role === 'heading');
  const titles = headings.filter(({ level }) => level === 1).length;
  if (titles !== 1) problems.push(`${titles} headings of level 1`);
  headings.forEach(({ level = 0, name }, at) => {
    const before = headings[at - 1]?.level ?? 0;
    if (level > before + 1) problems.push(`the heading ${name} of level ${level} follows one of level ${before}`);
  });
  const navigations = nodes.filter(({ role }) => role === 'navigation').map(({ name }) => name);
  const twice = navigations.find((name, at) => navigations.indexOf(name) !== at);
  if (twice !== undefined) problems.push(`two navigations are named ${twice}`);
  return problems;
}
