import type pg from 'pg'

/**
 * The schema as SQL text, made from the catalogues: the same text from every supported PostgreSQL, so that a test can
 * compare it with the committed file. Loading the text into an empty database makes the same schema, without its rows.
 *
 * Refuses what it does not know: an object that were left out of the dump could change without anybody noticing.
 */
export async function dumpSchema(client: pg.Client, schema = 'carillon'): Promise<string> {
  // With nothing in the path, the server writes every name with its schema.
  await client.query("SET search_path = ''")
  const ask = async <Row extends object>(text: string) => (await client.query<Row>(text, [schema])).rows
  await refuseUnknown(ask)
  const columns = await ask<Column>(columnsQuery)
  const constraints = await ask<Constraint>(constraintsQuery)
  const tables = await ask<Table>(tablesQuery)
  const functions = await ask<Line & { of_rows: boolean }>(functionsQuery)
  const functionText = ({ line }: Line) => `${line.trimEnd()};`
  const sections = [
    (await ask<Line>(extensionsQuery)).map(({ line }) => line),
    [`CREATE SCHEMA ${schema};`, 'SET check_function_bodies = off;'],
    (await ask<Line>(enumsQuery)).map(({ line }) => line),
    functions.filter((row) => !row.of_rows).map(functionText),
    (await ask<Sequence>(sequencesQuery)).map(
      (row) => `CREATE SEQUENCE ${row.name} AS ${row.type}${rangeOf(row)};`,
    ),
    tables.map((table) =>
      tableText(
        table,
        columns.filter(({ oid }) => oid === table.oid),
        constraints.filter(({ oid, kind }) => oid === table.oid && kind !== 'f'),
      ),
    ),
    // They name the type of a table's rows, which has to be there.
    functions.filter((row) => row.of_rows).map(functionText),
    (await ask<Line>(indexesQuery)).map(({ line }) => `${line};`),
    (await ask<Line>(statisticsQuery)).map(({ line }) => line),
    constraints
      .filter(({ kind }) => kind === 'f')
      .map(({ table, name, definition }) => `ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition};`),
    (await ask<Line>(triggersQuery)).map(({ line }) => `${line};`),
    (await ask<Line>(rowSecurityQuery)).map(({ line }) => line),
    (await ask<Line>(commentsQuery)).map(({ line }) => line),
  ]
  const text = sections.filter((section) => section.length > 0).map((section) => section.join('\n\n'))
  return `${text.join('\n\n')}\n`
}

/** How much of a column the planner knows, where that was set. */
const statisticsQuery = `
  SELECT format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS %s;', a.attrelid::regclass, a.attname, a.attstattarget) AS line
  FROM pg_attribute a
  JOIN pg_class c ON c.oid = a.attrelid
  WHERE c.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND a.attstattarget >= 0
  ORDER BY a.attrelid::regclass::text, a.attnum`

/** What an index of the schema needs from an extension. */
const extensionsQuery = `
  SELECT DISTINCT format('CREATE EXTENSION IF NOT EXISTS %I SCHEMA %I;', e.extname, n.nspname) AS line
  FROM pg_index i
  JOIN pg_class c ON c.oid = i.indexrelid
  CROSS JOIN LATERAL unnest(i.indclass::oid[]) AS class (oid)
  JOIN pg_depend d ON d.classid = 'pg_opclass'::regclass AND d.objid = class.oid AND d.deptype = 'e'
  JOIN pg_extension e ON e.oid = d.refobjid
  JOIN pg_namespace n ON n.oid = e.extnamespace
  WHERE c.relnamespace = $1::text::regnamespace
  ORDER BY 1`

type Ask = <Row extends object>(text: string) => Promise<Row[]>

interface Line {
  line: string
}

interface Table {
  oid: number
  name: string
  persistence: string
  partition_of: string | null
  bound: string | null
  partitioned_by: string | null
  storage: string | null
}

interface Column {
  oid: number
  name: string
  type: string
  required: boolean
  fallback: string | null
  generated: string
  identity: string
  sequence: Sequence | null
  collation: string | null
  storage: string | null
  compression: string
}

interface Constraint {
  oid: number
  table: string
  name: string
  kind: string
  definition: string
}

interface Sequence {
  name: string
  type: string
  start: string
  increment: string
  min: string
  max: string
  cache: string
  cycle: boolean
}

const largest: Record<string, string> = {
  smallint: '32767',
  integer: '2147483647',
  bigint: '9223372036854775807',
}

function rangeOf({ type, start, increment, min, max, cache, cycle }: Sequence): string {
  const parts = [
    increment === '1' ? null : `INCREMENT BY ${increment}`,
    min === '1' ? null : `MINVALUE ${min}`,
    max === largest[type] ? null : `MAXVALUE ${max}`,
    start === min ? null : `START WITH ${start}`,
    cache === '1' ? null : `CACHE ${cache}`,
    cycle ? 'CYCLE' : null,
  ].filter((part) => part !== null)
  return parts.map((part) => ` ${part}`).join('')
}

function tableText(table: Table, columns: Column[], constraints: Constraint[]): string {
  const kind = table.persistence === 'u' ? 'UNLOGGED TABLE' : 'TABLE'
  const storage = table.storage === null ? '' : ` WITH (${table.storage})`
  if (table.partition_of !== null) {
    return `CREATE ${kind} ${table.name} PARTITION OF ${table.partition_of} ${table.bound}${storage};`
  }
  const lines = [
    ...columns.map(columnText),
    ...constraints.map(({ name, definition }) => `CONSTRAINT ${name} ${definition}`),
  ]
  const partitioned = table.partitioned_by === null ? '' : ` PARTITION BY ${table.partitioned_by}`
  return `CREATE ${kind} ${table.name} (\n${lines.map((line) => `  ${line}`).join(',\n')}\n)${partitioned}${storage};`
}

function columnText(column: Column): string {
  const { name, type, required, fallback, generated, identity, sequence, collation, storage, compression } =
    column
  const when = identity === 'a' ? 'ALWAYS' : 'BY DEFAULT'
  const range = sequence === null ? '' : rangeOf(sequence)
  const options = range === '' ? '' : ` (${range.trim()})`
  return [
    name,
    type,
    storage === null ? null : `STORAGE ${storage}`,
    compression === '' ? null : `COMPRESSION ${compression}`,
    collation === null ? null : `COLLATE ${collation}`,
    required ? 'NOT NULL' : null,
    identity === '' ? null : `GENERATED ${when} AS IDENTITY${options}`,
    fallback === null
      ? null
      : generated === ''
        ? `DEFAULT ${fallback}`
        : `GENERATED ALWAYS AS (${fallback}) STORED`,
  ]
    .filter((part) => part !== null)
    .join(' ')
}

async function refuseUnknown(ask: Ask): Promise<void> {
  const unknown = await ask<Line>(unknownQuery)
  if (unknown.length > 0) {
    const list = unknown.map(({ line }) => line).join(', ')
    throw new Error(`The schema holds what test/kit/dump-schema.ts cannot write down: ${list}. Teach it.`)
  }
}

/** Parts of ours: everything but indexes and internal sequences, which belong to what they are written down with. */
const unknownQuery = `
  SELECT 'relation of kind ' || c.relkind::text || ': ' || c.oid::regclass::text AS line
  FROM pg_catalog.pg_class c WHERE c.relnamespace = $1::regnamespace AND c.relkind NOT IN ('r', 'p', 'i', 'I', 'S')
  UNION ALL
  SELECT 'type: ' || t.oid::regtype::text FROM pg_catalog.pg_type t
  WHERE t.typnamespace = $1::regnamespace AND t.typtype NOT IN ('e') AND t.typcategory <> 'A'
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid AND c.relkind IN ('r', 'p'))
  UNION ALL
  SELECT 'trigger that is off, or of a constraint: ' || t.tgname
  FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
  WHERE c.relnamespace = $1::regnamespace AND NOT t.tgisinternal AND (t.tgenabled <> 'O' OR t.tgconstraint <> 0)
  UNION ALL
  SELECT 'rule: ' || r.rulename FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_class c ON c.oid = r.ev_class
  WHERE c.relnamespace = $1::regnamespace
  UNION ALL
  SELECT 'aggregate or window function: ' || p.proname FROM pg_catalog.pg_proc p
  WHERE p.pronamespace = $1::regnamespace AND p.prokind NOT IN ('f', 'p')
  UNION ALL
  SELECT 'operator: ' || o.oprname FROM pg_catalog.pg_operator o WHERE o.oprnamespace = $1::regnamespace
  UNION ALL
  SELECT 'collation: ' || c.collname FROM pg_catalog.pg_collation c WHERE c.collnamespace = $1::regnamespace
  UNION ALL
  SELECT 'extended statistics: ' || s.stxname FROM pg_catalog.pg_statistic_ext s
  WHERE s.stxnamespace = $1::regnamespace
  UNION ALL
  SELECT 'inheritance: ' || c.relname FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
  WHERE c.relnamespace = $1::regnamespace AND c.relkind = 'r' AND NOT c.relispartition`

const enumsQuery = `
  SELECT format('CREATE TYPE %s AS ENUM (%s);', t.oid::regtype,
                string_agg(quote_literal(e.enumlabel), ', ' ORDER BY e.enumsortorder)) AS line
  FROM pg_catalog.pg_type t JOIN pg_catalog.pg_enum e ON e.enumtypid = t.oid
  WHERE t.typnamespace = $1::regnamespace
  GROUP BY t.oid ORDER BY t.oid::regtype::text COLLATE "C"`

const functionsQuery = `
  SELECT pg_catalog.pg_get_functiondef(p.oid) AS line,
         EXISTS (SELECT FROM pg_catalog.pg_type t
                 WHERE t.oid = ANY (p.proargtypes::oid[]) AND t.typtype = 'c') AS of_rows
  FROM pg_catalog.pg_proc p
  WHERE p.pronamespace = $1::regnamespace AND p.prokind IN ('f', 'p')
  ORDER BY p.oid::regprocedure::text COLLATE "C"`

const sequenceColumns = `
  s.seqrelid::regclass::text AS name, pg_catalog.format_type(s.seqtypid, NULL) AS type, s.seqstart::text AS start,
  s.seqincrement::text AS increment, s.seqmin::text AS min, s.seqmax::text AS max, s.seqcache::text AS cache,
  s.seqcycle AS cycle`

const sequencesQuery = `
  SELECT ${sequenceColumns}
  FROM pg_catalog.pg_sequence s JOIN pg_catalog.pg_class c ON c.oid = s.seqrelid
  WHERE c.relnamespace = $1::regnamespace
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
                    WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'i')
  ORDER BY c.relname COLLATE "C"`

/** A partition after the table that it is part of. */
const tablesQuery = `
  SELECT c.oid, c.oid::regclass::text AS name, c.relpersistence AS persistence,
         i.inhparent::regclass::text AS partition_of, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS bound,
         pg_catalog.pg_get_partkeydef(c.oid) AS partitioned_by,
         (SELECT string_agg(replace(option, '=', ' = '), ', ' ORDER BY option COLLATE "C")
          FROM unnest(c.reloptions) AS option) AS storage
  FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_inherits i ON i.inhrelid = c.oid
  WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p')
  ORDER BY i.inhparent IS NOT NULL, c.relname COLLATE "C"`

const columnsQuery = `
  SELECT a.attrelid AS oid, quote_ident(a.attname) AS name,
         pg_catalog.format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull AS required,
         pg_catalog.pg_get_expr(d.adbin, d.adrelid) AS fallback, a.attgenerated AS generated,
         a.attidentity AS identity,
         CASE WHEN a.attidentity <> '' THEN (
           SELECT to_jsonb(q) FROM (
             SELECT ${sequenceColumns} FROM pg_catalog.pg_sequence s
             WHERE s.seqrelid = pg_catalog.pg_get_serial_sequence(a.attrelid::regclass::text, a.attname)::regclass
           ) q
         ) END AS sequence,
         CASE WHEN a.attcollation <> t.typcollation THEN a.attcollation::regcollation::text END AS collation,
         CASE WHEN a.attstorage <> t.typstorage THEN
           CASE a.attstorage WHEN 'p' THEN 'PLAIN' WHEN 'm' THEN 'MAIN' WHEN 'e' THEN 'EXTERNAL' ELSE 'EXTENDED' END
         END AS storage,
         CASE a.attcompression WHEN 'p' THEN 'pglz' WHEN 'l' THEN 'lz4' ELSE '' END AS compression
  FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
  JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
  LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
  ORDER BY a.attrelid, a.attnum`

/** Without NOT NULL, which PostgreSQL 18 keeps as constraints too, and without what a partition has from its parent. */
const constraintsQuery = `
  SELECT con.conrelid AS oid, con.conrelid::regclass::text AS table, quote_ident(con.conname) AS name,
         con.contype AS kind, pg_catalog.pg_get_constraintdef(con.oid) AS definition
  FROM pg_catalog.pg_constraint con JOIN pg_catalog.pg_class c ON c.oid = con.conrelid
  WHERE c.relnamespace = $1::regnamespace AND con.contype IN ('p', 'u', 'c', 'f', 'x')
    AND NOT c.relispartition
  ORDER BY con.conrelid::regclass::text COLLATE "C", array_position(ARRAY['p', 'u', 'x', 'c', 'f'], con.contype::text),
           con.conname COLLATE "C"`

/** Those that no constraint makes. The index of a partition is made with the one of its parent. */
const indexesQuery = `
  SELECT replace(pg_catalog.pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ') AS line
  FROM pg_catalog.pg_index i
  JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
  JOIN pg_catalog.pg_class t ON t.oid = i.indrelid
  WHERE c.relnamespace = $1::regnamespace AND NOT t.relispartition
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint con WHERE con.conindid = c.oid AND con.contype IN ('p', 'u', 'x'))
  ORDER BY t.relname COLLATE "C", c.relname COLLATE "C"`

/** Whether a table has it, and for whom it lets what through. */
const rowSecurityQuery = `
  SELECT line FROM (
    SELECT c.relname, 0 AS part, '' AS name,
           format('ALTER TABLE %s %s;', c.oid::regclass, concat_ws(', ',
                  CASE WHEN c.relrowsecurity THEN 'ENABLE ROW LEVEL SECURITY' END,
                  CASE WHEN c.relforcerowsecurity THEN 'FORCE ROW LEVEL SECURITY' END)) AS line
    FROM pg_catalog.pg_class c
    WHERE c.relnamespace = $1::regnamespace AND (c.relrowsecurity OR c.relforcerowsecurity)
    UNION ALL
    SELECT c.relname, 1, p.polname,
           format('CREATE POLICY %I ON %s AS %s FOR %s TO %s%s%s;', p.polname, c.oid::regclass,
                  CASE WHEN p.polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END,
                  CASE p.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE'
                                ELSE 'ALL' END,
                  CASE WHEN p.polroles = '{0}' THEN 'PUBLIC'
                       ELSE (SELECT string_agg(quote_ident(r.rolname), ', ' ORDER BY r.rolname COLLATE "C")
                             FROM pg_catalog.pg_roles r WHERE r.oid = ANY (p.polroles)) END,
                  ' USING (' || pg_catalog.pg_get_expr(p.polqual, p.polrelid) || ')',
                  ' WITH CHECK (' || pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid) || ')')
    FROM pg_catalog.pg_policy p JOIN pg_catalog.pg_class c ON c.oid = p.polrelid
    WHERE c.relnamespace = $1::regnamespace
  ) lines
  ORDER BY relname COLLATE "C", part, name COLLATE "C"`

const commentsQuery = `
  SELECT format('COMMENT ON %s IS %L;',
                CASE WHEN d.objsubid = 0 THEN 'TABLE ' || c.oid::regclass::text
                     ELSE 'COLUMN ' || c.oid::regclass::text || '.' || quote_ident(a.attname) END,
                d.description) AS line
  FROM pg_catalog.pg_description d
  JOIN pg_catalog.pg_class c ON c.oid = d.objoid AND d.classoid = 'pg_catalog.pg_class'::regclass
  LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid
  WHERE c.relnamespace = $1::regnamespace
  ORDER BY c.relname COLLATE "C", d.objsubid`

const triggersQuery = `
  SELECT pg_catalog.pg_get_triggerdef(t.oid) AS line
  FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
  WHERE c.relnamespace = $1::regnamespace AND NOT t.tgisinternal
  ORDER BY c.relname, t.tgname`
