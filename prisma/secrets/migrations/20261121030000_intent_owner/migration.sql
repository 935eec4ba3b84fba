-- AlterTable
ALTER TABLE "intent" ADD COLUMN "owner" UUID;
