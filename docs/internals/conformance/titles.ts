import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from '@swc/core';

/** A test in the sources: its location, and its title with those of the enclosing describes. */
export interface TestTitle {
  file: string;
  /** Enclosing describe titles, outermost first, then the test's own. */
  path: readonly string[];
  /** Row titles of an `.each` table, which may carry ids too. */
  cases: readonly string[];
}

interface Node {
  type?: string;
  [key: string]: unknown;
}

const skippedFolders = new Set(['node_modules', 'dist', 'generated', 'data', 'coverage']);

/** Every `*.test.ts` below the root, as sorted paths relative to it. */
export function testFiles(root: string): string[] {
  return readdirSync(root, { withFileTypes: true })
    .flatMap((entry) => {
      if (entry.name.startsWith('.') || skippedFolders.has(entry.name)) return [];
      if (entry.isDirectory()) return testFiles(join(root, entry.name)).map((file) => `${entry.name}/${file}`);
      return entry.name.endsWith('.test.ts') ? [entry.name] : [];
    })
    .sort();
}

/** Titles of the tests of one file that run; those marked skip or todo prove nothing and are left out. */
export function titlesOf(file: string, root: string): TestTitle[] {
  const module = parseSync(readFileSync(join(root, file), 'utf8'), { syntax: 'typescript', target: 'es2022' });
  const found: TestTitle[] = [];
  visit(module as unknown as Node, [], (path, cases) => found.push({ file, path, cases }));
  return found;
}

function visit(node: unknown, path: readonly string[], found: (path: string[], cases: string[]) => void): void {
  if (Array.isArray(node)) {
    for (const child of node) visit(child, path, found);
    return;
  }
  if (typeof node !== 'object' || node === null) return;
  const current = node as Node;
  if (current.type === 'CallExpression') {
    const callee = calleeOf(current.callee as Node);
    const args = (current.arguments as { expression: Node }[]).map((argument) => argument.expression);
    const title = args[0] ? textOf(args[0]) : undefined;
    if (callee && title !== undefined && args.length > 1) {
      if (callee.skipped) return;
      const inner = [...path, title];
      if (callee.kind === 'describe') {
        // The rows of a describe table are titles of the describe as well.
        visit(args.slice(1), [...inner, ...callee.cases.filter((text) => text.includes('('))], found);
      } else {
        found(inner, callee.cases);
      }
      return;
    }
  }
  for (const child of Object.values(current)) visit(child, path, found);
}

/** Recognises `it`, `test`, `describe` with any of Jest's modifiers, for example `it.concurrent.each(table)`. */
function calleeOf(node: Node): { kind: 'test' | 'describe'; skipped: boolean; cases: string[] } | undefined {
  let current: Node | undefined = node;
  let skipped = false;
  const cases: string[] = [];
  while (current) {
    if (current.type === 'Identifier') {
      const name = String(current.value);
      if (name === 'describe') return { kind: 'describe', skipped, cases };
      if (name === 'it' || name === 'test') return { kind: 'test', skipped, cases };
      return undefined;
    }
    if (current.type === 'MemberExpression') {
      const property = String((current.property as Node).value);
      if (property === 'skip' || property === 'todo') skipped = true;
      current = current.object as Node;
    } else if (current.type === 'CallExpression') {
      collectStrings(current.arguments, cases);
      current = current.callee as Node;
    } else if (current.type === 'TaggedTemplateExpression') {
      collectStrings(current.template, cases);
      current = current.tag as Node;
    } else if (current.type === 'ParenthesisExpression' || current.type === 'TsAsExpression') {
      current = current.expression as Node;
    } else {
      return undefined;
    }
  }
  return undefined;
}

function collectStrings(node: unknown, into: string[]): void {
  if (Array.isArray(node)) {
    for (const child of node) collectStrings(child, into);
  } else if (typeof node === 'object' && node !== null) {
    const text = textOf(node as Node);
    if (text !== undefined) into.push(text);
    else for (const child of Object.values(node)) collectStrings(child, into);
  }
}

function textOf(node: Node): string | undefined {
  if (node.type === 'StringLiteral') return String(node.value);
  if (node.type !== 'TemplateLiteral') return undefined;
  return (node.quasis as { cooked?: string; raw: string }[]).map((part) => part.cooked ?? part.raw).join('…');
}
