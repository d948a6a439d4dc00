-- What jobs are looked for by (description, tags, owner) is still made from the definition by the database, so that whoever writes a definition has
-- written these. But few jobs have any of them, and a generated column is computed for every row: three looks into the definition and a copy
-- of the row. Now there is one look, and the rest where it finds something. No row is touched by this.
ALTER TABLE carillon.jobs
  ALTER COLUMN description DROP EXPRESSION,
  ALTER COLUMN tags DROP EXPRESSION,
  ALTER COLUMN managed_by DROP EXPRESSION;

-- Operators by their schema: a search_path of its own would be set and taken back for every row.
CREATE FUNCTION carillon.note_what_is_looked_for() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.description := NEW.definition OPERATOR(pg_catalog.->>) 'description';
  NEW.tags := NEW.definition OPERATOR(pg_catalog.->) 'tags';
  NEW.managed_by := NEW.definition OPERATOR(pg_catalog.->>) 'managed_by';
  RETURN NEW;
END
$$;
CREATE TRIGGER jobs_looked_for BEFORE INSERT ON carillon.jobs
  FOR EACH ROW WHEN (NEW.definition ?| '{description,tags,managed_by}')
  EXECUTE FUNCTION carillon.note_what_is_looked_for();
-- Of any definition: what the old one had, the new one may lack.
CREATE TRIGGER jobs_looked_for_anew BEFORE UPDATE OF definition ON carillon.jobs
  FOR EACH ROW EXECUTE FUNCTION carillon.note_what_is_looked_for();
