import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { executeApply, executePlan } from '../../src/worker/tool/execute';
import { type Asked, doing, findTool, makeExecutor, noTool } from '../worker-fixture';

/** A folder of providers, as `terraform providers mirror` creates it, with hashicorp/aws in it. */
const mirror = process.env.KEYSTEAD_TEST_PROVIDERS ?? '/opt/tf-plugins';
const noProvider = existsSync(`${mirror}/registry.terraform.io/hashicorp/aws`) ? undefined : 'no provider is here';
const assessing = { isAssessment: true, planOnly: true, refreshOnly: true };

/** As much of IAM as one user needs. */
const users = new Map<string, { path: string }>();
const iam = createServer(async (request, answer) => {
  let text = '';
  for await (const piece of request) text += piece;
  const asked = new URLSearchParams(text);
  const [action, name] = [asked.get('Action') ?? '', asked.get('UserName') ?? ''];
  if (action === 'CreateUser') users.set(name, { path: asked.get('Path') ?? '/' });
  const user = users.get(name);
  answer.setHeader('content-type', 'text/xml');
  if (!user) {
    const error = '<Error><Type>Sender</Type><Code>NoSuchEntity</Code><Message>none</Message></Error>';
    return answer.writeHead(404).end(`<ErrorResponse>${error}<RequestId>r</RequestId></ErrorResponse>`);
  }
  const shown = `<User><Path>${user.path}</Path><UserName>${name}</UserName><UserId>AIDA</UserId>
    <Arn>arn:aws:iam::123456789012:user${user.path}${name}</Arn><CreateDate>2026-01-01T00:00:00Z</CreateDate></User>`;
  return answer.end(`<${action}Response><${action}Result>${shown}</${action}Result></${action}Response>`);
});

describe('an assessment by the real tool', () => {
  const it = noTool ? test.skip : test;
  let executor: Awaited<ReturnType<typeof makeExecutor>>;
  beforeAll(async () => {
    iam.listen(0, '127.0.0.1');
    await once(iam, 'listening');
    if (noTool) return;
    const made = await makeExecutor('same-user', await findTool());
    const text = `provider_installation {\n  filesystem_mirror { path = "${mirror}" }\n}\n`;
    const limits = { ...made.limits, disk: { ...made.limits.disk, bytes: 4_000_000_000 } };
    executor = { ...made, limits, settings: { text, environment: {} } };
  });
  afterAll(() => {
    iam.close();
    executor?.remove();
  });
  const plan = async (asked: Asked) => {
    const under = await doing(asked);
    const result = await executePlan(executor, under);
    if (result.outcome !== 'planned') throw new Error(`${result.errorMessage}: ${under.text()}`);
    return result;
  };
  const applied = async (files: Record<string, string>) => {
    const { planFile } = await plan({ files });
    const result = await executeApply(executor, await doing({ planFile: planFile as Uint8Array }));
    expect(result.outcome).toBe('applied');
    return result.state!;
  };

  it('counts checks that pass, and those that fail after the infrastructure has changed', async () => {
    const other = (value: string) =>
      JSON.stringify({
        version: 4,
        terraform_version: '1.11.4',
        serial: 1,
        lineage: 'l',
        outputs: { v: { value, type: 'string' } },
        resources: [],
      });
    const files = (value: string) => ({
      'other.tfstate': other(value),
      'main.tf': `
        resource "terraform_data" "a" { input = "x" }
        module "m" { source = "./m" }
        data "terraform_remote_state" "o" {
          backend = "local"
          config  = { path = "\${path.root}/other.tfstate" }
        }
        check "fresh" {
          assert {
            condition     = data.terraform_remote_state.o.outputs.v == "good"
            error_message = "it is another"
          }
        }`,
      'm/main.tf': 'resource "terraform_data" "b" {}',
    });
    const state = await applied(files('good'));
    const counts = { resourcesDrifted: 0, resourcesUndrifted: 2, checksErrored: 0, checksUnknown: 0 };
    const well = await plan({ files: files('good'), state, job: assessing });
    expect(well.health).toEqual({ ...counts, checksPassed: 1, checksFailed: 0 });
    expect(well.planFile).toBeUndefined();
    const ill = await plan({ files: files('evil'), state, job: assessing });
    expect(ill.health).toEqual({ ...counts, checksPassed: 0, checksFailed: 1 });
  }, 300_000);

  const itDrifts = noTool || noProvider ? test.skip : test;
  itDrifts(
    'finds what was changed, and what was removed, outside it',
    async () => {
      const { port } = iam.address() as AddressInfo;
      const files = {
        'main.tf': `
        terraform {
          required_providers {
            aws = { source = "hashicorp/aws" }
          }
        }
        provider "aws" {
          region                      = "eu-west-1"
          access_key                  = "a"
          secret_key                  = "b"
          skip_credentials_validation = true
          skip_requesting_account_id  = true
          skip_metadata_api_check     = true
          skip_region_validation      = true
          endpoints {
            iam = "http://127.0.0.1:${port}"
          }
        }
        resource "aws_iam_user" "crane" {
          for_each = toset(["a", "b", "c"])
          name     = each.key
          path     = "/cranes/"
        }`,
      };
      const state = await applied(files);
      const checks = { checksPassed: 0, checksFailed: 0, checksErrored: 0, checksUnknown: 0 };
      const first = await plan({ files, state, job: assessing });
      expect(first.health).toMatchObject({ ...checks, resourcesDrifted: 0, resourcesUndrifted: 3 });
      users.get('a')!.path = '/ships/';
      users.delete('b');
      const drifted = await plan({ files, state, job: assessing });
      expect(drifted.health).toEqual({ ...checks, resourcesDrifted: 2, resourcesUndrifted: 1 });
      expect(String(drifted.jsonPlan)).toContain('/ships/');
    },
    600_000,
  );
});
