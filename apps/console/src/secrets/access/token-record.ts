/** A token as a lookup by accessor returns it. */
export interface TokenRecord {
  readonly accessor: string;
  readonly display_name: string;
  readonly policies: readonly string[];
  readonly identity_policies?: readonly string[];
  readonly path: string;
  readonly creation_time: number;
  readonly expire_time: string | null;
  readonly entity_id: string;
  readonly meta: Readonly<Record<string, string>> | null;
  readonly orphan: boolean;
  readonly renewable?: boolean;
  readonly type: string;
  readonly num_uses: number;
}
