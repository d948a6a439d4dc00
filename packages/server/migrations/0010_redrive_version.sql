-- A re-drive may run jobs as they are when their turn comes, in place of the version that died: for a fault that was in the
-- definition.
ALTER TABLE carillon.redrives ADD COLUMN current_version boolean NOT NULL DEFAULT false;
