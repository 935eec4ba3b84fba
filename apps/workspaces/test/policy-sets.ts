import { putUrl } from './configurations';
import { type Client, resource, type Workspaces } from './start-workspaces';

/** Policies and sets of an organization, created by a client. */
export function policiesOf(workspaces: Workspaces, organization = 'acme', by: Client = workspaces.admin) {
  const post = (path: string, body: object) => by.post(`organizations/${organization}/${path}`, body);
  const upload = (id: string, text: string) =>
    by.put(`policies/${id}/upload`).set('Content-Type', 'application/octet-stream').send(text);
  return {
    post,
    upload,
    /** A policy with this content; returns its id. */
    async policy(name: string, attributes: object = {}, text = `# ${name}`): Promise<string> {
      const given = { name, kind: 'opa', query: `data.${name}.deny`, 'enforcement-level': 'mandatory', ...attributes };
      const { body } = await post('policies', resource('policies', given)).expect(201);
      await upload(body.data.id, text).expect(200);
      return body.data.id;
    },
    /** A set; returns the resource. */
    async set(name: string, attributes: object = {}, lists: Record<string, readonly string[]> = {}) {
      const types: Record<string, string> = { 'workspace-exclusions': 'workspaces', 'project-exclusions': 'projects' };
      const relationships = Object.fromEntries(
        Object.entries(lists).map(([list, ids]) => [
          list,
          { data: ids.map((id) => ({ type: types[list] ?? list, id })) },
        ]),
      );
      const body = resource('policy-sets', { name, kind: 'opa', ...attributes }, relationships);
      return (await post('policy-sets', body).expect(201)).body.data;
    },
    /** Uploads a version of a set; returns its id. */
    async version(setId: string, archive: Buffer, status = 200): Promise<string> {
      const { body } = await by.post(`policy-sets/${setId}/versions`).expect(201);
      await putUrl(workspaces, body.data.links.upload, archive).expect(status);
      return body.data.id;
    },
  };
}
