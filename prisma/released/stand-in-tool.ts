import { writeFileSync } from 'node:fs';
import path from 'node:path';

/** The version that the stand-in reports. */
const toolVersion = '1.11.4';

// A plan always has changes. An apply writes a state whose output is the given sensitive variable, so the state shows
// whether the variable could be read.
const script = `#!/bin/sh
case $1 in
  version) echo "Terraform v${toolVersion}" ;;
  plan)
    echo "this plan is of a stand-in"
    for o in "$@"; do case $o in -out=*) echo plan > "\${o#-out=}";; esac; done; exit 2 ;;
  show) echo '{"format_version":"1.2"}' ;;
  providers) echo '{"format_version":"1.0"}' ;;
  apply)
    for folder in ../state/*/; do at="$folder/terraform.tfstate"; done
    serial=$(sed -n 's/.*"serial":\\([0-9]*\\).*/\\1/p' "$at" 2>/dev/null)
    printf '{"version":4,"terraform_version":"${toolVersion}","serial":%d,"lineage":"kept","outputs":{"seen":{"value":"%s","type":"string"}},"resources":[]}' \\
      "$((\${serial:-0} + 1))" "$KEPT_SECRET" > "$at.new" && mv "$at.new" "$at"
    echo "Apply complete! Resources: 0 added, 0 changed, 0 destroyed." ;;
esac
`;

/** Writes the stand-in of the infrastructure tool into a folder; returns the file. */
export function writeStandInTool(folder: string): string {
  const file = path.join(folder, 'terraform');
  writeFileSync(file, script, { mode: 0o755 });
  return file;
}
