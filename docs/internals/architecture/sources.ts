import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { parseSync } from '@swc/core';

/** One import of a source file. */
export interface Import {
  /** As written: `../sdk/path`, `@keystead/refusal`, `node:fs`. */
  from: string;
  /** Path below the root when the import is relative; undefined for packages. */
  file?: string;
  /** Erased at compile time. */
  typeOnly: boolean;
}

/** The data of one TypeScript file that the rules check, with or without markup. */
export interface Source {
  /** Path below the root, with forward slashes. */
  file: string;
  text: string;
  test: boolean;
  imports: readonly Import[];
  readsEnvironment: boolean;
  /** Names of variables declared with `let` or `var` outside any function. */
  moduleState: readonly string[];
  /** Types, interfaces and classes declared outside any function. */
  typeNames: readonly string[];
  /** Values of `spec:` properties, which cite a section of a specification. */
  citations: readonly string[];
}

interface Node {
  type?: string;
  [key: string]: unknown;
}

const skipped = new Set(['node_modules', 'dist', 'generated', 'data', 'coverage']);

/** Every TypeScript file of the project that is not generated, sorted by path. */
export function readSources(root: string): Source[] {
  return filesBelow(root)
    .sort()
    .map((file) => readSource(root, file));
}

/** The paths of the TypeScript files below a folder that are not generated. */
export function filesBelow(root: string, folder = ''): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = posix.join(folder, entry.name);
    if (entry.isDirectory()) return entry.name.startsWith('.') || skipped.has(entry.name) ? [] : filesBelow(root, path);
    return /\.([cm]?ts|tsx)$/.test(entry.name) && !entry.name.endsWith('.d.ts') ? [path] : [];
  });
}

const parsed = (file: string, text: string) =>
  parseSync(text, { syntax: 'typescript', tsx: file.endsWith('.tsx'), target: 'es2022' }) as unknown as {
    body: Node[];
  };

/** The names of the variables and parameters that a source declares, also in patterns and in types of functions. */
export function valueNames(file: string, text: string): string[] {
  const names: string[] = [];
  visit(parsed(file, text), (node) => {
    for (const pattern of patternsOf(node)) addNames(pattern, names);
  });
  return names;
}

function patternsOf(node: Node): unknown[] {
  if (node.type === 'VariableDeclarator') return [node.id];
  if (node.type === 'CatchClause' || node.type === 'SetterProperty') return [node.param];
  // Of functions, methods and their types; of calls, `params` of type parameters has no patterns.
  return Array.isArray(node.params) ? node.params : [];
}

function addNames(pattern: unknown, names: string[]): void {
  if (Array.isArray(pattern)) for (const one of pattern) addNames(one, names);
  if (typeof pattern !== 'object' || pattern === null) return;
  const { type, ...node } = pattern as Node;
  switch (type) {
    case 'Identifier':
      names.push(String(node.value));
      break;
    case 'Parameter':
      addNames(node.pat, names);
      break;
    case 'TsParameterProperty':
      addNames(node.param, names);
      break;
    case 'AssignmentPattern':
      addNames(node.left, names);
      break;
    case 'RestElement':
      addNames(node.argument, names);
      break;
    case 'ArrayPattern':
      addNames(node.elements, names);
      break;
    case 'ObjectPattern':
      // With another name, it is the value of the property; otherwise its key.
      for (const property of node.properties as Node[]) {
        addNames(
          property.type === 'KeyValuePatternProperty'
            ? property.value
            : property.type === 'AssignmentPatternProperty'
              ? property.key
              : property,
          names,
        );
      }
  }
}

function readSource(root: string, file: string): Source {
  const text = readFileSync(join(root, file), 'utf8');
  const module = parsed(file, text);
  const imports: Import[] = [];
  const citations: string[] = [];
  let readsEnvironment = false;
  visit(module, (node) => {
    const from = importedFrom(node);
    if (from !== undefined) {
      const specifiers = (node.specifiers as { isTypeOnly?: boolean }[] | undefined) ?? [];
      const allTypes = specifiers.length > 0 && specifiers.every((specifier) => specifier.isTypeOnly);
      imports.push({ from, file: resolve(root, file, from), typeOnly: node.typeOnly === true || allTypes });
    }
    if (isEnvironment(node)) readsEnvironment = true;
    if (node.type === 'KeyValueProperty' && (node.key as Node).value === 'spec') {
      const value = node.value as Node;
      if (value.type === 'StringLiteral') citations.push(String(value.value));
    }
  });
  const test = /\.test\.ts$|^(apps\/[^/]+\/test|local\/test|packages\/testing|docs|bench|prisma)\/|^[^/]+\.ts$/.test(
    file,
  );
  return {
    file,
    text,
    test,
    imports,
    readsEnvironment,
    moduleState: module.body.flatMap(stateOf),
    typeNames: module.body.flatMap(typeNameOf),
    citations,
  };
}

function visit(node: unknown, see: (node: Node) => void): void {
  if (Array.isArray(node)) {
    for (const child of node) visit(child, see);
  } else if (typeof node === 'object' && node !== null) {
    see(node as Node);
    for (const child of Object.values(node)) visit(child, see);
  }
}

function importedFrom(node: Node): string | undefined {
  const source = node.source as Node | undefined | null;
  if (/^(Import|ExportAll|ExportNamed)Declaration$/.test(node.type ?? '') && source) return String(source.value);
  if (node.type !== 'CallExpression') return undefined;
  const callee = node.callee as Node;
  const [first] = node.arguments as { expression: Node }[];
  const loads = callee.type === 'Import' || (callee.type === 'Identifier' && callee.value === 'require');
  return loads && first?.expression.type === 'StringLiteral' ? String(first.expression.value) : undefined;
}

function isEnvironment(node: Node): boolean {
  if (node.type !== 'MemberExpression') return false;
  const [object, property] = [node.object as Node, node.property as Node];
  return object.type === 'Identifier' && object.value === 'process' && property.value === 'env';
}

function stateOf(statement: Node): string[] {
  const declaration = statement.type === 'ExportDeclaration' ? (statement.declaration as Node) : statement;
  if (declaration.type !== 'VariableDeclaration' || declaration.kind === 'const' || declaration.declare) return [];
  return (declaration.declarations as { id: Node }[]).map((variable) => String(variable.id.value ?? 'a pattern'));
}

function typeNameOf(statement: Node): string[] {
  const declaration = statement.type === 'ExportDeclaration' ? (statement.declaration as Node) : statement;
  if (declaration.type === 'ClassDeclaration') return [String((declaration.identifier as Node).value)];
  const named = /^Ts(TypeAlias|Interface|Enum)Declaration$/.test(declaration.type ?? '');
  return named ? [String((declaration.id as Node).value)] : [];
}

function resolve(root: string, file: string, from: string): string | undefined {
  if (!from.startsWith('.')) return undefined;
  const path = posix.join(dirname(file), from);
  const candidates = [path, `${path}.ts`, `${path}.tsx`, `${path}/index.ts`, path.replace(/\.js$/, '.ts')];
  return candidates.find((candidate) => /\.\w+$/.test(candidate) && existsSync(join(root, candidate))) ?? path;
}
