/**
 * Metadata addresses of clouds and host machines. They trust every caller on the machine, so they are always blocked
 * for runs.
 */
export interface CloudEndpoint {
  /** An address, or a range in CIDR notation. */
  readonly to: string;
  /** The name of the service that answers there. */
  readonly whose: string;
  /** The address of the documentation about it. */
  readonly source: string;
  /** Known services in a range, for a test of each. */
  readonly examples?: readonly string[];
}

/**
 * Every address that is closed to runs. All link-local addresses are closed, so a new service of a cloud needs no new
 * line. Name servers at some of these addresses still work, because the rules block only TCP.
 */
export const cloudEndpoints: readonly CloudEndpoint[] = [
  {
    to: '169.254.0.0/16',
    whose:
      'link-local: metadata of AWS, Azure, Google Cloud, Oracle, IBM, DigitalOcean, Hetzner, OpenStack, Akamai, Vultr',
    source: 'RFC 3927; cloud-init, reference/datasources',
    examples: [
      // Nearly all clouds.
      '169.254.169.254',
      // Amazon ECS task credentials; Amazon EKS pod identity.
      '169.254.170.2',
      '169.254.170.23',
      // Google Kubernetes Engine.
      '169.254.169.252',
      // Tencent; Scaleway; OpenNebula.
      '169.254.0.23',
      '169.254.42.42',
      '169.254.16.9',
    ],
  },
  {
    to: 'fe80::/10',
    whose: 'link-local: metadata of OpenStack',
    source: 'RFC 4291, section 2.5.6; docs.openstack.org/nova, user/metadata',
    examples: ['fe80::a9fe:a9fe'],
  },
  {
    to: '168.63.129.16',
    whose: 'Azure WireServer and host agent: certificates and settings of extensions',
    source: 'learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16',
  },
  {
    to: '192.0.0.0/24',
    whose: 'protocol assignments: metadata of Oracle Cloud Classic',
    source: 'RFC 6890, table 7; docs.oracle.com, Oracle Cloud Infrastructure Classic, instance metadata',
    examples: ['192.0.0.192'],
  },
  {
    to: '100.100.100.200',
    whose: 'Alibaba Cloud',
    source: 'alibabacloud.com/help/en/ecs, view instance metadata; cloud-init, DataSourceAliYun',
  },
  {
    to: 'fd00:100::100:200',
    whose: 'Alibaba Cloud',
    source: 'alibabacloud.com/help/en/ecs, view instance metadata',
  },
  {
    to: 'fd00:ec2::/32',
    whose: 'AWS: instance metadata, EKS pod identity and other services',
    source: 'docs.aws.amazon.com, AWSEC2 UserGuide, configuring-instance-metadata-service',
    examples: ['fd00:ec2::254', 'fd00:ec2::23'],
  },
  {
    to: 'fd20:ce::254',
    whose: 'Google Cloud',
    source: 'cloud.google.com/compute/docs/metadata/querying-metadata',
  },
  {
    to: 'fd00:c1::a9fe:a9fe',
    whose: 'Oracle Cloud',
    source: 'cloud-init, DataSourceOracle',
  },
  {
    to: 'fd00:42::42',
    whose: 'Scaleway',
    source: 'cloud-init, DataSourceScaleway',
  },
  {
    to: 'fd00:a9fe:a9fe::1',
    whose: 'Akamai (Linode)',
    source: 'cloud-init, DataSourceAkamai',
  },
];

/** A sample address for each endpoint, to test whether it is blocked. */
export const endpointsToTry: readonly string[] = cloudEndpoints.flatMap(({ to, examples }) => examples ?? [to]);
