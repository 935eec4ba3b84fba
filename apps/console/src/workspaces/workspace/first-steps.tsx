import { Link } from '@tanstack/react-router';
import { Command, Lines } from '../../design/page';

const cloudOf = (host: string, org: string, ws: string): string =>
  `terraform {
  cloud {
    hostname     = "${host}"
    organization = "${org}"
    workspaces { name = "${ws}" }
  }
}`;

/**
 * The tool's settings with the addresses of the service. They are needed because the tool discovers services only over
 * https.
 */
const settingsOf = (host: string, api: string): string =>
  `host "${host}" {
  services = {
    "tfe.v2"   = "${api}"
    "tfe.v2.1" = "${api}"
    "state.v2" = "${api}"
  }
}
credentials "${host}" {
  token = "…"
}`;

/** How to use an empty workspace from the command line: configuration and commands. */
export function FirstSteps({ org, ws }: { readonly org: string; readonly ws: string }) {
  const { host, origin, protocol } = location;
  const isSecure = protocol === 'https:';
  const file = 'keystead.tfrc';
  return (
    <section className="panel stack" aria-label="First steps">
      <p>No run yet. Point your configuration at this workspace, and start a run with Terraform or OpenTofu.</p>
      <ol className="steps">
        <li>
          <p>In the configuration, say where it belongs:</p>
          <Lines text={cloudOf(host, org, ws)} what="configuration" />
        </li>
        {isSecure ? (
          <li>
            <p>Let the tool act as you:</p>
            <Command text={`terraform login ${host}`} />
          </li>
        ) : (
          <li>
            <p>
              The tool discovers services only over HTTPS, and this service has no HTTPS here. A file{' '}
              <code>{file}</code> next to the configuration gives the addresses instead; put{' '}
              <Link to="/account">a token of yours</Link> in:
            </p>
            <Lines text={settingsOf(host, `${origin}/api/v2/`)} what="settings of the tool" />
            <Command text={`export TF_CLI_CONFIG_FILE=$PWD/${file}`} />
          </li>
        )}
        <li>
          <p>
            <code>plan</code> shows here what would change; <code>apply</code> waits until it is confirmed, in the
            terminal or on its page here:
          </p>
          <Command text="terraform init && terraform apply" />
        </li>
      </ol>
    </section>
  );
}
