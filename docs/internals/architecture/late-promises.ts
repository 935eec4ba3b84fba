import { parseSync } from '@swc/core';

interface Node {
  type?: string;
  [key: string]: unknown;
}

/** A promise that is stored in a variable and awaited only after the function has awaited something else. */
export interface LatePromise {
  /** The variable that holds it. */
  name: string;
  /** Text of the declaration, shortened. */
  declaration: string;
}

/**
 * Finds promises whose rejection is unhandled for a while: a variable gets the result of a call without await, the
 * function awaits something else, and only then the variable. If the promise is rejected in between, Node reports an
 * unhandled rejection. A `.catch` on the variable before, or `Promise.all` at once, makes it safe.
 */
export function latePromises(text: string, tsx: boolean): LatePromise[] {
  if (!text.includes('await')) return [];
  const module = parseSync(text, { syntax: 'typescript', tsx, target: 'es2022' }) as unknown as Node;
  const base = (module.span as { start: number }).start;
  const bytes = Buffer.from(text);
  const found: LatePromise[] = [];
  eachBlock(module, (statements) => {
    for (const [index, statement] of statements.entries()) {
      for (const { name, node } of startedPromises(statement)) {
        const rest = statements.slice(index + 1);
        const use = rest.findIndex((one) => awaits(one, name));
        if (use < 0) continue;
        const between = rest.slice(0, use);
        const waitsFirst = between.some((one) => contains(one, ({ type }) => type === 'AwaitExpression'));
        const handled = between.some((one) => contains(one, (inner) => handles(inner, name)));
        if (!waitsFirst || handled) continue;
        const { start, end } = node.span as { start: number; end: number };
        const shown = bytes.subarray(start - base, end - base).toString();
        found.push({ name, declaration: shown.replace(/\s+/g, ' ').slice(0, 100) });
      }
    }
  });
  return found;
}

/** Variables that a statement declares with the result of a call, not awaited. */
function startedPromises(statement: Node): { name: string; node: Node }[] {
  if (statement.type !== 'VariableDeclaration') return [];
  return (statement.declarations as Node[]).flatMap((one) => {
    const [id, init] = [one.id as Node, one.init as Node | null];
    const called =
      (init?.type === 'CallExpression' && !isHandled(init)) ||
      (init?.type === 'ConditionalExpression' && mayStart(init));
    return id.type === 'Identifier' && called ? [{ name: id.value as string, node: one }] : [];
  });
}

/** `….catch(…)`, `Promise.resolve()` and `Promise.allSettled(…)` are never rejected without a handler. */
function isHandled({ callee }: Node): boolean {
  const member = callee as Node;
  if (member.type !== 'MemberExpression') return false;
  return ['catch', 'resolve', 'allSettled'].includes(String((member.property as Node).value));
}

const mayStart = ({ consequent, alternate }: Node): boolean =>
  [consequent, alternate].some((one) => (one as Node).type === 'CallExpression');

/** Whether a statement awaits a variable by itself or among others: `await x`, `await Promise.all([x, y])`, `for await`. */
function awaits(statement: Node, name: string): boolean {
  return contains(statement, (node) => {
    if (node.type !== 'AwaitExpression') return false;
    const awaited = node.argument as Node;
    if (isName(awaited, name)) return true;
    if (awaited.type !== 'CallExpression') return false;
    const callee = awaited.callee as Node;
    const owner = callee.type === 'MemberExpression' ? (callee.object as Node) : undefined;
    if (!owner || !isName(owner, 'Promise')) return false;
    return contains(awaited.arguments, (inner) => isName(inner, name));
  });
}

/**
 * Whether a node is `name.catch(…)`, `name.then(a, b)`, or passes the variable to a call, which then is responsible.
 */
function handles(node: Node, name: string): boolean {
  if (node.type !== 'CallExpression') return false;
  const callee = node.callee as Node;
  if (callee.type === 'MemberExpression' && isName(callee.object as Node, name)) {
    const method = (callee.property as Node).value;
    return method === 'catch' || (method === 'then' && (node.arguments as unknown[]).length > 1);
  }
  return (node.arguments as { expression: Node }[]).some(({ expression }) => isName(expression, name));
}

const isName = (node: Node, name: string): boolean => node.type === 'Identifier' && node.value === name;

/** Whether a predicate holds for any node of a tree, except inside nested functions. */
function contains(tree: unknown, holds: (node: Node) => boolean): boolean {
  if (Array.isArray(tree)) return tree.some((one) => contains(one, holds));
  if (typeof tree !== 'object' || tree === null) return false;
  const node = tree as Node;
  if (node.type !== undefined && holds(node)) return true;
  if (/Function|ArrowFunction|ClassMethod/.test(node.type ?? '')) return false;
  return Object.values(node).some((one) => contains(one, holds));
}

function eachBlock(tree: unknown, visit: (statements: Node[]) => void): void {
  if (Array.isArray(tree)) for (const one of tree) eachBlock(one, visit);
  else if (typeof tree === 'object' && tree !== null) {
    const node = tree as Node;
    if (Array.isArray(node.stmts)) visit(node.stmts as Node[]);
    if (node.type === 'Module') visit(node.body as Node[]);
    for (const one of Object.values(node)) eachBlock(one, visit);
  }
}
