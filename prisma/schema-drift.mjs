#!/usr/bin/env node
// Prints the SQL that would make a migrated database match schema.prisma; nothing if they agree. It needs no native
// engine and downloads nothing. Usage: node prisma/schema-drift.mjs SCHEMA_FILE DATABASE_URL
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory, ColumnTypeEnum } from '@prisma/driver-adapter-utils';
import * as engineModule from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';

const [schemaFile, url] = process.argv.slice(2);

// The engine reads the catalogue, whose types (name, "char", oidvector and others) the adapter does not know: they
// arrive as text, and "char" columns get the type that the engine expects.
const TEXT = 25;
const CHAR = 18;
const asText = { 18: TEXT, 19: TEXT, 22: TEXT, 24: TEXT, 28: TEXT, 194: TEXT, 1002: 1009, 1003: 1009, 2205: TEXT };
const charColumns = new Map();
const columnsOf = (names) => names.join('\0');
const { addFields } = pg.Result.prototype;
pg.Result.prototype.addFields = function (fields) {
  const found = fields.flatMap((field, index) => (field.dataTypeID === CHAR ? [index] : []));
  charColumns.set(columnsOf(fields.map((field) => field.name)), found);
  for (const field of fields) field.dataTypeID = asText[field.dataTypeID] ?? field.dataTypeID;
  return addFields.call(this, fields);
};

/** Passes everything on to `target` except the named replacements. */
function overriding(target, replacements) {
  return new Proxy(target, {
    get(_, name) {
      const value = replacements[name] ?? target[name];
      return typeof value === 'function' && !replacements[name] ? value.bind(target) : value;
    },
  });
}

function reading(connection) {
  return overriding(connection, {
    async queryRaw(query) {
      const result = await connection.queryRaw(query);
      for (const index of charColumns.get(columnsOf(result.columnNames)) ?? []) {
        result.columnTypes[index] = ColumnTypeEnum.Character;
      }
      return result;
    },
    startTransaction: async (level) => reading(await connection.startTransaction(level)),
  });
}

async function createEngine() {
  const wasm = path.join(
    path.dirname(createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg')),
    'schema_engine_bg.wasm',
  );
  const { instance } = await WebAssembly.instantiate(readFileSync(wasm), { './schema_engine_bg.js': engineModule });
  engineModule.__wbg_set_wasm(instance.exports);
  instance.exports.__wbindgen_start();
  const adapter = new PrismaPg({ connectionString: url, max: 1 });
  const factory = overriding(adapter, { connect: async () => reading(await adapter.connect()) });
  return engineModule.SchemaEngine.new({}, () => {}, bindMigrationAwareSqlAdapterFactory(factory));
}

const engine = await createEngine();
const schema = { path: schemaFile, content: readFileSync(schemaFile, 'utf8') };
const { stdout } = await engine.diff({
  from: { tag: 'schemaDatasource', files: [schema], configDir: path.dirname(schemaFile) },
  to: { tag: 'schemaDatamodel', files: [schema] },
  script: true,
  exitCode: null,
  shadowDatabaseUrl: null,
  filters: { externalTables: ['public._prisma_migrations'], externalEnums: [] },
});
process.stdout.write(stdout ?? '');
process.exit(0);
