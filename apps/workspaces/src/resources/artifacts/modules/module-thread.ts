import { parentPort, workerData } from 'node:worker_threads';
import type { FolderDocs, ModuleDocs } from './docs';

// Declared here instead of imported, because its types would add browser types to every file.
const { parse } = require('@cdktn/hcl2json') as { parse(file: string, text: string): Promise<unknown> };

type Block = Readonly<Record<string, unknown>>;

const isBlock = (value: unknown): value is Block =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const blocksOf = (value: unknown): Block[] => (Array.isArray(value) ? value : [value]).filter(isBlock);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
/** The text of an expression, which the parser wraps in the braces of a template. */
const expression = (value: unknown): string => textOf(value).replace(/^\$\{(.*)\}$/s, '$1');

/** Blocks of a kind with one label, from all files. */
function* labelled(files: readonly Block[], kind: string): Generator<[name: string, block: Block]> {
  for (const file of files) {
    for (const named of blocksOf(file[kind])) {
      for (const [name, content] of Object.entries(named)) for (const block of blocksOf(content)) yield [name, block];
    }
  }
}

function* providersOf(files: readonly Block[]): Generator<FolderDocs['provider_dependencies'][number]> {
  for (const file of files) {
    const required = blocksOf(file.terraform).flatMap((block) => blocksOf(block.required_providers));
    for (const [name, requirement] of required.flatMap((block) => Object.entries(block))) {
      const source = isBlock(requirement) ? textOf(requirement.source) : '';
      const version = isBlock(requirement) ? requirement.version : requirement;
      yield { name, namespace: source.split('/').at(-2) ?? '', source, version: textOf(version) };
    }
  }
}

async function blocksIn(file: string, text: string): Promise<Block> {
  try {
    const read: unknown = file.endsWith('.json') ? JSON.parse(text) : await parse(file, text);
    return isBlock(read) ? read : {};
  } catch (error) {
    throw new Error(`${file} cannot be read: ${(error as Error).message.slice(0, 1000)}`);
  }
}

async function docsOf(folder: string, texts: ReadonlyMap<string, string>): Promise<FolderDocs> {
  const files: Block[] = [];
  for (const [file, text] of texts) if (!file.endsWith('README.md')) files.push(await blocksIn(file, text));
  const prefix = folder === '' ? '' : `${folder}/`;
  return {
    path: folder,
    name: folder.split('/').at(-1) ?? '',
    readme: texts.get(`${prefix}README.md`) ?? '',
    empty: files.every((file) => Object.keys(file).length === 0),
    inputs: [...labelled(files, 'variable')].map(([name, { type, description, ...block }]) => ({
      name,
      type: expression(type),
      description: textOf(description),
      default: 'default' in block ? JSON.stringify(block.default) : '',
      required: !('default' in block),
      sensitive: block.sensitive === true,
    })),
    outputs: [...labelled(files, 'output')].map(([name, block]) => ({
      name,
      description: textOf(block.description),
      sensitive: block.sensitive === true,
    })),
    dependencies: [...labelled(files, 'module')].map(([name, block]) => ({
      name,
      source: textOf(block.source),
      version: textOf(block.version),
    })),
    provider_dependencies: [...providersOf(files)],
    resources: [...labelled(files, 'resource')].flatMap(([type, block]) =>
      Object.keys(block).map((name) => ({ name, type })),
    ),
  };
}

const folderOf = (file: string): string => file.split('/').slice(0, -1).join('/');

async function moduleOf(files: ReadonlyMap<string, Uint8Array>): Promise<ModuleDocs> {
  const folders = new Map<string, Map<string, string>>([['', new Map()]]);
  for (const [file, bytes] of files) {
    const texts = folders.get(folderOf(file)) ?? new Map<string, string>();
    folders.set(folderOf(file), texts.set(file, Buffer.from(bytes).toString('utf8')));
  }
  const read: FolderDocs[] = [];
  for (const [folder, texts] of folders) read.push(await docsOf(folder, texts));
  return {
    root: read[0]!,
    submodules: read.filter(({ path }) => path.startsWith('modules/')),
    examples: read.filter(({ path }) => path.startsWith('examples/')),
  };
}

moduleOf(workerData as ReadonlyMap<string, Uint8Array>).then(
  (docs) => parentPort!.postMessage(docs),
  (error: Error) => parentPort!.postMessage(error.message),
);
