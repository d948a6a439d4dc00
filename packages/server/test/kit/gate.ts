import type { House } from './use-house.js'

/**
 * Stops a statement in its middle, with every lock that it has taken so far: each row it writes to the table waits
 * while the gate is closed. That is how a test lets something happen between two steps of one statement.
 */
export class Gate {
  private constructor(private readonly open_: () => Promise<void>) {}

  static async closeBefore(
    house: House,
    event: 'INSERT' | 'UPDATE' | 'DELETE',
    table: 'queue' | 'timers' | 'dead_letters' | 'ledger_default' | 'partitions' | 'replays' | 'operations',
  ): Promise<Gate> {
    const holder = await house.session()
    // Also for statements that bound their waits: here they stand for as long as the gate is closed.
    await house.query(`CREATE OR REPLACE FUNCTION carillon_test.gate() RETURNS trigger LANGUAGE plpgsql
      SET lock_timeout TO 0 AS $$
      BEGIN
        PERFORM pg_advisory_xact_lock_shared(7707);
        IF TG_OP = 'DELETE' THEN RETURN old; END IF;
        RETURN new;
      END $$`)
    await house.query(`CREATE OR REPLACE FUNCTION carillon_test.build(event text, name text) RETURNS void
      LANGUAGE plpgsql AS $$ BEGIN
        EXECUTE format('CREATE TRIGGER gate BEFORE %s ON carillon.%I FOR EACH ROW
                        EXECUTE FUNCTION carillon_test.gate()', event, name);
      END $$`)
    await holder.query('SELECT pg_advisory_lock(7707)')
    await house.query('SELECT carillon_test.build($1, $2)', [event, table])
    return new Gate(async () => {
      await holder.query('SELECT pg_advisory_unlock(7707)')
      await house.query('DROP FUNCTION carillon_test.gate() CASCADE')
    })
  }

  /** Lets everything through, and takes the gate away. */
  open(): Promise<void> {
    return this.open_()
  }
}
