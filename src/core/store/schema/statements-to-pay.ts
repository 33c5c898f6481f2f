// Statements that must still be paid, over all months. Most statements are paid and are kept forever, so without this
// table, finding the few unpaid ones would read all of them.

import type { Dialect } from "./dialect.ts";

/**
 * Returns the SQL of the migration. Triggers fill the table, so that no writer can forget to, not even a process of
 * the previous version during an upgrade.
 */
export function statementsToPay(dialect: Dialect): readonly string[] {
	return [
		// Each row is a statement that must still be paid.
		`create table unpaid_statements (statement_id ${dialect.assignedId})`,
		...(dialect.kind === "sqlite" ? SQLITE : POSTGRES),
		// The triggers exist at this point, so they record every statement that is issued or paid after this insert has
		// read the table.
		`insert into unpaid_statements (statement_id)
			select id from statements where is_carried = 0 and id not in (select statement_id from payments)`,
	];
}

const SQLITE: readonly string[] = [
	`create trigger statements_unpaid after insert on statements when new.is_carried = 0
		begin insert into unpaid_statements (statement_id) values (new.id); end`,
	`create trigger payments_made after insert on payments
		begin delete from unpaid_statements where statement_id = new.statement_id; end`,
	`create trigger payments_undone after delete on payments
		begin insert into unpaid_statements (statement_id) values (old.statement_id); end`,
];

const POSTGRES: readonly string[] = [
	`create function note_unpaid_statements() returns trigger language plpgsql as $$
		begin
			insert into unpaid_statements (statement_id) select id from added where is_carried = 0;
			return null;
		end $$`,
	`create trigger statements_unpaid after insert on statements
		referencing new table as added for each statement execute function note_unpaid_statements()`,
	`create function note_paid_statements() returns trigger language plpgsql as $$
		begin
			delete from unpaid_statements where statement_id in (select statement_id from added);
			return null;
		end $$`,
	`create trigger payments_made after insert on payments
		referencing new table as added for each statement execute function note_paid_statements()`,
	`create function note_undone_payments() returns trigger language plpgsql as $$
		begin
			insert into unpaid_statements (statement_id) select statement_id from removed;
			return null;
		end $$`,
	`create trigger payments_undone after delete on payments
		referencing old table as removed for each statement execute function note_undone_payments()`,
];
