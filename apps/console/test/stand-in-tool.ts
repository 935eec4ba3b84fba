import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Text that an attacker may have written anywhere. It must never become markup or run. */
export const hostile = `"'><img src=x onerror="window.harmed=1"><script>window.harmed=1</script>{{7*7}}`;

const plan = {
  format_version: '1.2',
  terraform_version: '1.11.4',
  resource_changes: [
    {
      address: 'stone.wall["a"]',
      mode: 'managed',
      type: 'stone',
      name: 'wall',
      index: 'a',
      provider_name: 'registry.terraform.io/made/up',
      change: {
        actions: ['create'],
        before: null,
        after: { height: 3, label: hostile, secret: 'never shown' },
        after_unknown: { id: true },
        before_sensitive: false,
        after_sensitive: { secret: true },
      },
    },
  ],
  configuration: {
    root_module: {
      resources: [
        { mode: 'managed', type: 'stone', name: 'ground', expressions: {} },
        {
          mode: 'managed',
          type: 'stone',
          name: 'wall',
          expressions: { under: { references: ['stone.ground.id', 'stone.ground'] } },
        },
      ],
    },
  },
  output_changes: {
    height: {
      actions: ['create'],
      before: null,
      after: 3,
      after_unknown: false,
      before_sensitive: false,
      after_sensitive: false,
    },
  },
};

const said = (message: string, more: object = {}) => JSON.stringify({ '@level': 'info', '@message': message, ...more });
const hook = (type: string) =>
  said(`stone.wall: ${type}`, {
    type,
    hook: { resource: { addr: 'stone.wall["a"]' }, action: 'create', elapsed_seconds: 2 },
  });
const testOf = (run: string, status: string) => ({
  type: 'test_run',
  test_run: { path: 'tests/wall.tftest.hcl', run, progress: 'complete', elapsed: 1500, status },
});

const script = `#!/bin/sh
case $1 in
  version) echo "Terraform v1.14.0" ;;
  init)
    source=$(sed -n 's/.*source *= *"\\([^"]*\\)".*/\\1/p' main.tf 2>/dev/null)
    if [ -n "$source" ]; then
      mkdir -p .terraform/modules
      echo "{\\"Modules\\":[{\\"Key\\":\\"wall\\",\\"Source\\":\\"$source\\",\\"Version\\":\\"1.2.0\\",\\"Dir\\":\\".\\"}]}" > .terraform/modules/modules.json
    fi ;;
  plan)
    if grep -q chatty *.tf 2>/dev/null; then seq -f 'line %.0f of a tool that says everything it does, and then again' 100000; fi
    cat <<'END'
${said('The plan has begun')}
${said(hostile)}
plain text with \u001b[31mred\u001b[0m
END
    for o in "$@"; do case $o in -out=*) echo plan > "\${o#-out=}";; esac; done; exit 2 ;;
  show) cat <<'END'
${JSON.stringify(plan)}
END
  ;;
  providers) echo '{"format_version":"1.0"}' ;;
  apply)
    for folder in ../state/*/; do at="$folder/terraform.tfstate"; done
    serial=$(sed -n 's/.*"serial":\\([0-9]*\\).*/\\1/p' "$at" 2>/dev/null)
    echo '${hook('apply_start')}'
    for n in 1 2 3 4 5 6; do echo "laying row $n"; sleep 0.5; done
    echo '${hook('apply_complete')}'
    printf '{"version":4,"terraform_version":"1.11.4","serial":%d,"lineage":"kept","outputs":{"height":{"value":%d,"type":"number"}},"resources":[{"mode":"managed","type":"stone","name":"wall","provider":"provider[\\\\"registry.terraform.io/made/up\\\\"]","instances":[{"schema_version":0,"index_key":"a","attributes":{"id":"stone-of-the-wall","height":%d,"secret":"never shown"}}]}]}' \\
      "$((\${serial:-0} + 1))" "$((\${serial:-0} + 3))" "$((\${serial:-0} + 3))" > "$at.new" && mv "$at.new" "$at"
    echo '${said('Apply complete! Resources: 1 added, 0 changed, 0 destroyed.')}' ;;
  test)
    if grep -q endless *.tf; then trap 'echo "was interrupted"; exit 1' INT TERM; echo "waits"; while :; do sleep 0.2; done; fi
    cat <<'END'
${said('tests/wall.tftest.hcl... in progress')}
${said('is_high... pass', testOf('is_high', 'pass'))}
${said('is_straight... fail', testOf('is_straight', 'fail'))}
${said('Test assertion failed', { '@level': 'error', type: 'diagnostic', diagnostic: { severity: 'error', summary: 'Test assertion failed', detail: hostile } })}
${said('Failure! 1 passed, 1 failed.', { type: 'test_summary', test_summary: { status: 'fail', passed: 1, failed: 1, errored: 0, skipped: 0 } })}
END
    exit 1 ;;
  query)
    if grep -q endless *.tf; then trap 'echo "was interrupted"; exit 1' INT TERM; echo "waits"; while :; do sleep 0.2; done; fi
    cat <<'END'
${said('stone.wall: found "north"')}
${said(hostile)}
END
  ;;
esac
`;

/**
 * Writes a stand-in for the infrastructure tool, whose apply takes a while; returns the file. `label`: a string in its
 * resource.
 */
export function standInTool(label = hostile): string {
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'keystead-tool-')), 'terraform');
  writeFileSync(file, script.replaceAll(JSON.stringify(hostile), JSON.stringify(label)), { mode: 0o755 });
  return file;
}

const opa = `#!/bin/sh
case $1 in
  version) echo "Version: 1.22.4" ;;
  capabilities) echo '{"builtins":[]}' ;;
  eval) printf '%s' '${JSON.stringify({
    result: [{ expressions: [{ value: [[[`stone.wall has no owner ${hostile}`.replaceAll("'", '')]]] }] }],
  })}' ;;
esac
`;

/** Writes a stand-in for OPA in which every policy fails; returns the file. */
export function standInOpa(): string {
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'keystead-opa-')), 'opa');
  writeFileSync(file, opa, { mode: 0o755 });
  return file;
}

/** A README with every Markdown element, and with content that must not become HTML. */
export const readme = `# A wall

[Its guide](https://example.com/guide), [its heights](#its-heights), [a script](javascript:window.harmed=1), **not** a [file](docs/more.md).
![a picture](https://example.com/wall.svg)

<!-- written by a tool -->
<details><summary>More about it</summary></details>

#### Its heights

| Height | Stones |
| --- | --- |
| \`low\` &amp; dry | 3 |

- [x] solid
1. first

\`\`\`hcl
module "wall" {}
\`\`\`

${hostile}
`;

/** A tar of files, in the format of an uploaded configuration. */
export function tarOf(files: Readonly<Record<string, string>>): Buffer {
  const pieces = Object.entries(files).flatMap(([name, text]) => {
    const content = Buffer.from(text);
    const head = Buffer.alloc(512);
    const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`;
    head.write(name, 0);
    head.write(octal(0o644, 8), 100);
    head.write(octal(0, 8), 108);
    head.write(octal(0, 8), 116);
    head.write(octal(content.length, 12), 124);
    head.write(octal(0, 12), 136);
    head.write('        ', 148);
    head.write('0', 156);
    head.write('ustar\u000000', 257);
    head.write(
      octal(
        head.reduce((sum, byte) => sum + byte, 0),
        7,
      ),
      148,
    );
    return [head, content, Buffer.alloc((512 - (content.length % 512)) % 512)];
  });
  return Buffer.concat([...pieces, Buffer.alloc(1024)]);
}
