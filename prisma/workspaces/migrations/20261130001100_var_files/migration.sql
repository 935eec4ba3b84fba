-- Files of variables in the configuration that the runs of a workspace use.
ALTER TABLE "workspace" ADD COLUMN "var_files" TEXT[] DEFAULT ARRAY[]::TEXT[];
