import { describe, expect, it } from '@jest/globals';
import { LogText } from './log-text';

const structured = [
  { '@level': 'info', '@message': 'terraform_data.stone: Creating…', type: 'apply_start' },
  {
    '@level': 'error',
    '@message': 'Error: Reference to undeclared input variable',
    diagnostic: {
      severity: 'error',
      address: 'terraform_data.stone',
      range: { filename: 'main.tf', start: { line: 3 } },
      snippet: { context: 'resource "terraform_data" "stone"', code: '  input = var.höhe', start_line: 3 },
      detail: 'No variable "höhe" is declared.',
    },
  },
].map((line) => JSON.stringify(line));
const log = Buffer.from(`\u0002Terraform v1.11.4\n${structured.join('\n')}\n{"@broken\nlast line\u0003`);
const expected = `Terraform v1.11.4
terraform_data.stone: Creating…
╷
│ Error: Reference to undeclared input variable
│ 
│   with terraform_data.stone,
│   on main.tf line 3, in resource "terraform_data" "stone":
│    3:   input = var.höhe
│ 
│ No variable "höhe" is declared.
╵
{"@broken
last line`;

describe('the text of a log', () => {
  it.each([1, 2, 7, 4096])('is the output of the tool, regardless of how it arrives: in pieces of %d bytes', (size) => {
    const text = new LogText();
    let said = '';
    for (let at = 0; at < log.length; at += size) said += text.take(log.subarray(at, at + size));
    expect(said + text.end()).toBe(expected);
  });

  it('is unchanged on request', () => {
    const text = new LogText(true);
    expect(text.take(log) + text.end()).toBe(log.toString().slice(1, -1));
  });

  it('omits the planned changes, and prints outputs as the tool does', () => {
    const text = new LogText();
    const lines = [
      { '@message': 'a: Plan to create', type: 'planned_change' },
      { '@message': 'Plan: 1 to add', type: 'change_summary', changes: { operation: 'plan' } },
      { '@message': 'Outputs: 1', type: 'outputs', outputs: { port: { sensitive: false, action: 'create' } } },
      { '@message': 'Apply complete!', type: 'change_summary', changes: { operation: 'apply' } },
      {
        '@message': 'Outputs: 3',
        type: 'outputs',
        outputs: {
          port: { value: 8080 },
          key: { sensitive: true, value: 'x' },
          tags: { value: { b: [1], a: 'two\nlines' } },
        },
      },
    ];
    const said = text.take(Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join('')));
    expect(said).toBe(`
Apply complete!

Outputs:

key = <sensitive>
port = 8080
tags = {
  "a" = <<EOT
two
lines
EOT
  "b" = [
    1,
  ]
}
`);
    expect(text.takePlanned()).toBe('a: Plan to create\nPlan: 1 to add\nOutputs: 1\n');
  });

  it('holds an incomplete line back until it is complete', () => {
    const text = new LogText();
    expect(text.take(Buffer.from('half'))).toBe('');
    expect(text.take(Buffer.from(' a line\n'))).toBe('half a line\n');
    expect(text.end()).toBe('');
  });
});
