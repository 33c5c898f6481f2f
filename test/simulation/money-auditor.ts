// Reads all rows about money from the simulation's database, for the checks of test/support/money-auditor.ts.

import type { DatabaseSync } from "node:sqlite";
import { auditMoney, type Minimums, type MoneyRows, type StatementCopies } from "../support/money-auditor.ts";

export type MoneyAuditor = ReturnType<typeof createMoneyAuditor>;

export function createMoneyAuditor(database: DatabaseSync, minimums: Minimums) {
	const copies: StatementCopies = new Map();
	const read = <Name extends keyof MoneyRows>(query: string): (() => MoneyRows[Name]) => {
		const statement = database.prepare(query);
		return () => statement.all() as unknown as MoneyRows[Name];
	};
	const readConversions = read<"conversions">(
		`select c.*, d.partnership_id, p.partner_id from conversions c
			left join credits d on d.conversion_id = c.id left join partnerships p on p.id = d.partnership_id`,
	);
	const readEntries = read<"entries">("select * from entries order by id");
	const readOpen = read<"open">("select * from open_entries");
	const readContained = read<"contained">("select * from statement_entries order by entry_id");
	const readStatements = read<"statements">("select * from statements order by id");
	const readLines = read<"lines">("select * from statement_lines order by statement_id, programme_id");
	const readNumbers = read<"numbers">("select * from statement_numbers");
	const readPayments = read<"payments">("select * from payments");
	return {
		audit(): void {
			const rows: MoneyRows = {
				conversions: readConversions(),
				entries: readEntries(),
				open: readOpen(),
				contained: readContained(),
				statements: readStatements(),
				lines: readLines(),
				numbers: readNumbers(),
				payments: readPayments(),
			};
			auditMoney(rows, minimums, copies);
		},
		/** Number of statements that were seen. */
		get statements() {
			return copies.size;
		},
	};
}
