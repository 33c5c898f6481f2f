// `ringback record-restore` records that another program, such as pg_restore, has restored the database. Payments since
// the backup are not known then. `ringback restore` records the same for a SQLite file itself.

import { refuse, succeed } from "#core/domain/fault.ts";
import { isoTime } from "#core/domain/time.ts";
import { recordRestore } from "#core/store/queries/restores.ts";
import { readWrittenTime } from "#modules/jobs/use-cases/written-time.ts";
import { workplaceCommand } from "./command.ts";
import { describeErased, describeUnknownPayments } from "./restore.ts";

export const recordRestoreCommand = workplaceCommand({
	name: "record-restore",
	summary:
		"Records that another program, such as pg_restore, has restored the database. No payout file is offered until staff have compared payments with the bank, so that nothing is paid twice.",
	options: {
		at: {
			type: "string",
			value: "TIME",
			help: 'the moment to which the database went back, such as "2026-03-01 02:30", UTC: when the dump was begun, or the target of the recovery',
			isRequired: true,
		},
	},
	notes: [
		"Run it after each restore of PostgreSQL, before the service starts. If you do not know the moment, name an earlier one.",
	],
	async work({ store, clock }, options) {
		const asOfMs = readWrittenTime(options.text("at"));
		const nowMs = clock.nowMs();
		if (asOfMs === null) return refuse("invalid_field", '--at takes a time such as "2026-03-01 02:30".');
		if (asOfMs > nowMs) {
			return refuse("invalid_field", `--at is a time in the past. Here it is ${isoTime(nowMs)}.`);
		}
		await store.transact((trx) => recordRestore(trx, { asOfMs, restoredAtMs: nowMs }));
		const asOf = isoTime(asOfMs);
		const text = [
			`Recorded: the database is as it was at ${asOf}.`,
			...describeUnknownPayments(asOf),
			...describeErased(asOf, null),
		];
		return succeed({ json: { asOf, restoredAt: isoTime(nowMs) }, text: text.join("\n") });
	},
});
