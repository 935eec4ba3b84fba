-- Who has had a mail: a server that refuses one address of several is not given the others again.
ALTER TABLE "notification_delivery" ADD COLUMN "mailed_to" TEXT[] NOT NULL DEFAULT '{}';
