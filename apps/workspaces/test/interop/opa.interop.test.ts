import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { findProgram } from '@keystead/testing';
import type { JudgingSet, PolicyEngine } from '../../src/resources/runs/policy-evaluations/perform';
import { isolationOf } from '../../src/worker/isolation/isolation';
import { makeScratch } from '../../src/worker/isolation/scratch';
import { opaEngine } from '../../src/worker/policies/opa';
import { findOpa, type OpaProgram } from '../../src/worker/policies/program';
import { kindsHere, testUids } from '../worker-fixture';

jest.setTimeout(180_000);
const given = process.env.KEYSTEAD_OPA ?? findProgram('opa');
const limits = { fileBytes: 1_000_000_000, processes: 500, openFiles: 4096, memoryBytes: 1024 * 1024 * 1024 };

const kinds = given ? kindsHere() : [];
(given ? describe : describe.skip).each(kinds.length > 0 ? kinds : ['none' as never])('OPA as %s', (kind) => {
  const root = mkdtempSync(path.join(tmpdir(), 'opa-'));
  let program: OpaProgram;
  let engine: PolicyEngine;
  beforeAll(async () => {
    await makeScratch(root);
    const found = await findOpa([given!], '');
    program = found[0]!;
    const isolation = isolationOf(kind, { network: 'host', show: [], limits });
    engine = opaEngine({ programs: found, isolation, scratch: { root, ...testUids } });
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  const setOf = (
    files: Record<string, string>,
    queries: Record<string, string>,
    more: Partial<JudgingSet> = {},
  ): JudgingSet => ({
    id: 'psout-1',
    toolVersion: null,
    disabledVersions: [],
    files,
    policies: Object.entries(queries).map(([name, query]) => ({
      name,
      query,
      enforcementLevel: 'mandatory',
      description: '',
      digest: '',
    })),
    parameters: [],
    ...more,
  });
  const judge = async (
    set: JudgingSet,
    plan = '{"format_version":"1.2","resource_changes":[{"address":"a.b"}]}',
    run: object = { id: 'run-1' },
  ) => {
    const [verdict] = await engine.judge([set], { run, plan: Readable.from([plan]) });
    expect(readdirSync(root).filter((name) => name.startsWith('run-'))).toEqual([]);
    return {
      error: verdict!.error,
      said: verdict!.outcomes.map(({ policy_name, status, output }) => [
        policy_name,
        status,
        output.map(({ print }) => print),
      ]),
    };
  };
  const rego = (body: string) => ({ 'a.rego': `package a\n${body}\n` });

  it('evaluates all queries at once, with the plan, the run, parameters and data', async () => {
    const set = setOf(
      {
        'a.rego':
          'package a\ndeny contains msg if { some c in input.plan.resource_changes; msg := sprintf("%s in %s", [c.address, input.run.id]) }\nnone contains msg if { false; msg := "x" }\n',
        'deep/b.rego':
          'package b\ndeny contains x if { x := data.limits.most; x < to_number(data.parameters.least) }\nsecret contains data.parameters.hidden\n',
        'limits.json': '{"limits":{"most":3}}',
      },
      { one: 'data.a.deny', two: 'a.none', three: 'b.deny', four: 'b["secret"]' },
      {
        parameters: [
          { key: 'least', value: '5', sensitive: false },
          { key: 'hidden', value: 'top-secret', sensitive: true },
        ],
      },
    );
    expect(await judge(set)).toEqual({
      error: '',
      said: [
        ['one', 'failed', ['a.b in run-1']],
        ['two', 'passed', []],
        ['three', 'failed', ['3']],
        ['four', 'failed', ['***']],
      ],
    });
  });

  it('accepts policies in the language before version 1, and names the line of an invalid policy', async () => {
    expect(
      await judge(setOf({ 'x.rego': 'package example rule["not allowed"] { true }' }, { x: 'data.example.rule' })),
    ).toEqual({
      error: '',
      said: [['x', 'failed', ['not allowed']]],
    });
    const { error, said } = await judge(
      setOf({ 'x.rego': 'package a\n\ndeny contains {{' }, { x: 'data.a.deny', y: 'data.a.more' }),
    );
    expect(error).toMatch(/^x\.rego:3: /);
    expect(said).toEqual([
      ['x', 'errored', []],
      ['y', 'errored', []],
    ]);
  });

  it('returns the outcome of each policy if one cannot be evaluated', async () => {
    const set = setOf(rego('good contains "g"\nclash := 1\nclash := x if { x := 2 }\nword := "no list"'), {
      clash: 'data.a.clash',
      good: 'data.a.good',
      missing: 'data.a.nothing',
      word: 'data.a.word',
    });
    const { error, said } = await judge(set);
    expect(error).toBe('');
    expect(said).toMatchObject([
      ['clash', 'errored', [expect.stringMatching(/multiple outputs|conflict/)]],
      ['good', 'failed', ['g']],
      ['missing', 'errored', [expect.stringMatching(/no value/)]],
      ['word', 'errored', [expect.stringMatching(/must return a list/)]],
    ]);
  });

  it.each([
    ['the network', 'deny contains http.send({"method": "get", "url": "http://127.0.0.1:1"}).status'],
    ['host names', 'deny contains net.lookup_ip_addr("localhost")'],
    ['the environment', 'deny contains opa.runtime().env.PATH'],
    ['other policies', 'deny contains rego.parse_module("x", "package x")'],
  ])('gives policies no way to %s', async (_what, body) => {
    const { error, said } = await judge(setOf(rego(body), { x: 'data.a.deny' }));
    expect(error).toMatch(/undefined function/);
    expect(said).toEqual([['x', 'errored', []]]);
  });

  it('stops policies that do not end or fill the memory', async () => {
    const loop =
      'deny contains "x" if { some a in numbers.range(1, 100000); some b in numbers.range(1, 100000); a * b < 0 }';
    const { said } = await judge(setOf(rego(loop), { x: 'data.a.deny' }));
    expect(said).toMatchObject([
      ['x', 'errored', [expect.stringMatching(/timed out|took longer|cancel|memory|ended/i)]],
    ]);
    const large =
      'deny contains x if { some i in numbers.range(1, 3000); x := sprintf("%d %s", [i, concat("", [c | some j in numbers.range(1, 20000); c := "aaaaaaaaaa"])]) }';
    const { said: filled } = await judge(setOf(rego(large), { x: 'data.a.deny' }));
    expect(filled[0]![1]).toBe('errored');
  });

  it('evaluates a plan of ten megabytes, and limits the printed output', async () => {
    const changes = Array.from({ length: 40_000 }, (_, at) => ({ address: `a.b[${at}]`, pad: 'x'.repeat(220) }));
    const plan = JSON.stringify({ resource_changes: changes });
    expect(plan.length).toBeGreaterThan(10_000_000);
    const set = setOf(
      rego(
        'deny contains c.address if { some c in input.plan.resource_changes }\nlong contains input.plan.resource_changes',
      ),
      {
        many: 'data.a.deny',
        long: 'data.a.long',
      },
    );
    const { said } = await judge(set, plan);
    expect([said[0]![1], said[0]![2]?.length]).toEqual(['failed', 100]);
    expect(String(said[1]![2]).length).toBeLessThanOrEqual(1000);
  });

  it('evaluates with exactly the version that a set requests', async () => {
    const files = rego('deny contains "x" if false');
    expect((await judge(setOf(files, { x: 'data.a.deny' }, { toolVersion: program.version }))).said).toEqual([
      ['x', 'passed', []],
    ]);
    const { error, said } = await judge(setOf(files, { x: 'data.a.deny' }, { toolVersion: '0.1.0' }));
    expect(error).toContain('requires OPA 0.1.0');
    expect(said).toEqual([['x', 'errored', []]]);
  });
});
