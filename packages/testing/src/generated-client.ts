import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { CompilerOptions } from 'typescript';

const execute = promisify(execFile);

/** The result of checking and running a program against generated types. */
export interface GeneratedSession {
  /** The compiler's errors; empty if the program's calls match the document. */
  readonly faults: string[];
  /** Runs the program's exported `session`; only for programs without errors. */
  run(...args: unknown[]): Promise<unknown>;
}

/** The TypeScript types of an OpenAPI document, as the text of a file. */
export async function generatedTypes(document: object): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'generated-types-'));
  try {
    const file = path.join(folder, 'api.ts');
    await generateTypes(folder, document, file);
    return readFileSync(file, 'utf8');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function generateTypes(folder: string, document: object, file: string): Promise<void> {
  const described = path.join(folder, 'openapi.json');
  writeFileSync(described, JSON.stringify(document));
  const generator = path.join(path.dirname(require.resolve('openapi-typescript')), '..', 'bin', 'cli.js');
  await execute(process.execPath, [generator, described, '--alphabetize', '--output', file]);
}

/**
 * Generates TypeScript types from an OpenAPI document and compiles a program that uses them: `import type { paths } from
 * './api'`, and `import type createClient from 'openapi-fetch'`, exporting `session`. The program gets everything it
 * calls as arguments.
 */
export async function generatedSession(document: object, program: string): Promise<GeneratedSession> {
  const folder = mkdtempSync(path.join(tmpdir(), 'generated-client-'));
  try {
    // Loaded here, so that only the few tests that generate a client pay for a compiler.
    const { default: ts } = await import('typescript');
    await generateTypes(folder, document, path.join(folder, 'api.ts'));
    const file = path.join(folder, 'session.ts');
    writeFileSync(file, program);
    const client = path.join(path.dirname(require.resolve('openapi-fetch')), '..');
    const options: CompilerOptions = {
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      types: [],
      lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
      paths: {
        'openapi-fetch': [path.join(client, 'dist', 'index.d.mts')],
        'openapi-typescript-helpers': [helpersOf(client)],
      },
    };
    const compiled = ts.createProgram([file], options);
    const faults = ts
      .getPreEmitDiagnostics(compiled)
      .map((found) => ts.flattenDiagnosticMessageText(found.messageText, '\n'));
    return {
      faults,
      async run(...args) {
        const { outputText } = ts.transpileModule(program, {
          compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 },
        });
        const exported: { session?(...args: unknown[]): Promise<unknown> } = {};
        new Function('exports', outputText)(exported);
        return exported.session?.(...args);
      },
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function helpersOf(client: string): string {
  const found = require.resolve('openapi-typescript-helpers', { paths: [client] });
  return path.join(path.dirname(found), 'index.d.mts');
}
