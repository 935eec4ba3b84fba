import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { parseExact } from '@keystead/envelope';
import { findTool, noTool } from '../../workspaces/test/worker-fixture';
import { planText, type RedactedPlan } from '../src/workspaces/plan-text';

jest.setTimeout(120_000);

const before = `
variable "key" {
  default   = "hidden"
  sensitive = true
}
resource "terraform_data" "create" { input = "by the pool" }
resource "terraform_data" "object" {
  input = {
    a = "b", list = [1, 2, "x"], deep = { "k-1" = true, n = null }, text = "one\\ntwo\\n", json = jsonencode({ p = 1, q = ["z"] })
  }
}
resource "terraform_data" "replaced" {
  input            = "x"
  triggers_replace = ["1"]
}
resource "terraform_data" "secret" { input = var.key }
resource "terraform_data" "lines" { input = "one\\ntwo\\nthree\\n" }
resource "terraform_data" "json" { input = jsonencode({ p = 1, q = ["z"] }) }
resource "terraform_data" "list" { input = ["a", "b", "c"] }
resource "terraform_data" "counted" {
  count = 2
  input = count.index
}
resource "terraform_data" "named" {
  for_each = toset(["one", "two"])
  input    = 12345678901234567890
}
resource "terraform_data" "gone" { input = { a = "b", list = [1, 2] } }
output "who" { value = terraform_data.create.output }
output "plain" { value = { a = 1 } }
output "secret" {
  value     = var.key
  sensitive = true
}
`;
const after = before
  .replace('"by the pool"', '"by the sea"')
  .replace('a = "b", list = [1, 2, "x"]', 'a = "c", list = [1, 3, "x", "y"]')
  .replace('"k-1" = true', '"k-1" = false')
  .replace('q = ["z"] })\n', 'q = ["z", "w"] })\n')
  .replace('p = 1, q = ["z"] }) }', 'p = 2, q = [] }) }')
  .replace('triggers_replace = ["1"]', 'triggers_replace = ["2"]')
  .replace('one\\ntwo\\nthree', 'one\\n2\\nthree')
  .replace('"a", "b", "c"', '"b", "c", "d"')
  .replace('count = 2', 'count = 1')
  .replace('"one", "two"', '"two", "three"')
  .replace('{ a = 1 }', '{ a = 2, b = 3 }')
  .replace(/resource "terraform_data" "gone".*\n/, '');

(noTool ? describe.skip : describe)('a plan in the words of the tool', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keystead-plan-text-'));
  let file: string;
  const tool = (...args: string[]) =>
    execFileSync(file, args, {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 2 ** 26,
    });

  beforeAll(async () => {
    ({ file } = await findTool());
    writeFileSync(join(folder, 'main.tf'), before);
    tool('init', '-input=false');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each([
    ['creates', before, []],
    ['changes, replaces and destroys', after, []],
    ['destroys everything', after, ['-destroy']],
    ['changes nothing', before, []],
  ] as const)('%s', (_, configuration, flags) => {
    writeFileSync(join(folder, 'main.tf'), configuration);
    tool('plan', '-input=false', '-out=plan', ...flags);
    const plan = parseExact(tool('show', '-json', 'plan')) as RedactedPlan;
    const { provider_schemas } = JSON.parse(tool('providers', 'schema', '-json')) as RedactedPlan;
    expect(planText({ ...plan, provider_schemas }).trim()).toBe(tool('show', '-no-color', 'plan').trim());
    if (configuration === before) tool('apply', '-input=false', 'plan');
  });
});
