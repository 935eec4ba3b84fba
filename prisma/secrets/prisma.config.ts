import { defineConfig } from 'prisma/config';

/** Used by the official prisma commands only; the service reads its own configuration. */
export default defineConfig({
  schema: './schema.prisma',
  migrations: { path: './migrations' },
  datasource: { url: process.env.SECRETS_DATABASE_URL ?? 'postgresql://localhost:5432/secrets' },
});
